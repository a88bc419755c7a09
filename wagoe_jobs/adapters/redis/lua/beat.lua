-- Keep what a worker is at.
-- needs: now, keys, presence
-- KEYS[1], ARGV[1..3]  as for every script
-- ARGV[4]              after how many microseconds of silence a worker is gone
-- ARGV[5]              its name
-- ARGV[6]              how many microseconds ago it asked for work, '' before it did
-- ARGV[7], ARGV[8]     the jobs that it runs, as JSON, and how many there are
-- Returns 1, or 0 when the worker is not listed.

local name, polled = ARGV[5], ARGV[6]
if not listed(name, ARGV[4]) then
  return 0
end
if polled ~= '' then
  polled = whole(now - tonumber(polled))
end
redis.call('HSET', K.worker(name), 'polled', polled, 'running', ARGV[7], 'count', ARGV[8])
redis.call('ZADD', K.workers, whole(now), name)
return 1
