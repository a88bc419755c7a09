-- Give the ticker's lease up.
-- needs: now, keys, ticker
-- KEYS[1], ARGV[1..3]  as for every script
-- ARGV[4]              the holder
-- Returns 1, or 0 when it is not this holder's.

if ticker() ~= ARGV[4] then
  return 0
end
redis.call('DEL', K.ticker)
return 1
