-- Forget a worker.
-- needs: now, keys, presence
-- KEYS[1], ARGV[1..3]  as for every script
-- ARGV[4]              after how many microseconds of silence a worker is gone
-- ARGV[5]              its name
-- Returns 1, or 0 when it was not listed.

local name = ARGV[5]
local known = listed(name, ARGV[4])
redis.call('UNLINK', K.worker(name))
redis.call('ZREM', K.workers, name)
return known and 1 or 0
