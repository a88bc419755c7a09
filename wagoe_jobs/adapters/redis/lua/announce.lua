-- Keep a worker's card in place of whatever was known under its name, and forget workers that are gone.
-- needs: now, keys, presence
-- KEYS[1], ARGV[1..3]  as for every script
-- ARGV[4]              after how many microseconds of silence a worker is gone
-- ARGV[5]              its name
-- ARGV[6]              its card as JSON, without its start
-- ARGV[7]              its start, 0 for now
-- Returns its start.

local name, started = ARGV[5], ARGV[7]
forget_gone(ARGV[4])
if started == '0' then
  started = whole(now)
end
redis.call('UNLINK', K.worker(name))
redis.call('HSET', K.worker(name), 'card', ARGV[6], 'started', started)
redis.call('ZADD', K.workers, whole(now), name)
return started
