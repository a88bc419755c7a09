-- needs: insert, idempotency
-- Take a key and store one job, or neither.
-- KEYS: seq
-- ARGV: scope, key, how long to take it in microseconds, delay or '', eight arguments of the job
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
