-- Take a key and store one job, or neither.
-- needs: insert, idempotency
-- KEYS[1], ARGV[1..3]  as for every script
-- ARGV[4], ARGV[5]     scope and key
-- ARGV[6]              for how many microseconds
-- ARGV[7]              delay in microseconds or ''
-- ARGV[8..15]          the job, as `insert` takes it
-- Returns nil when both were done, else the id of the job that is there.

local scope, key, ttl, delay, id = ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8]
local taken = key_value(scope, key)
if taken then
  return taken
end
if redis.call('EXISTS', K.job(id)) == 1 then
  return id
end
take_key(scope, key, ttl, id)
insert(8, delay)
return nil
