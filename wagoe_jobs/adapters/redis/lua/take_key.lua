-- Take an idempotency key unless it is taken.
-- needs: now, keys, idempotency
-- KEYS[1], ARGV[1..3]  as for every script
-- ARGV[4], ARGV[5]     scope and key
-- ARGV[6]              for how many microseconds
-- ARGV[7]              what to leave with it
-- Returns {} when it is the caller's now, else {what its taker left}.

local taken = key_value(ARGV[4], ARGV[5])
if taken then
  return {taken}
end
take_key(ARGV[4], ARGV[5], ARGV[6], ARGV[7])
return {}
