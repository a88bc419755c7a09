-- Make a dead letter ready again, if it is still the one that was read.
-- needs: now, keys, together, ready, end, unfinish
-- KEYS[1], ARGV[1..3]  as for every script
-- ARGV[4]              the id
-- ARGV[5], ARGV[6]     its place in the line and its end, as they were read: each life has its own
-- ARGV[7]              how many repeats its new life may have
-- ARGV[8]              the new text, '' to keep the old one with the error beside it
-- Returns 1, or 0 when it is no dead letter any more, or another.

local id, text = ARGV[4], ARGV[8]
local job = K.job(id)
local found = redis.call('HMGET', job, 'place', 'status', 'seq', 'completed', 'queue', 'rank', 'type')
local place, status, seq, completed, queue, rank, type = unpack(found)

if place ~= 'ended' or status ~= 'failed' or seq ~= ARGV[5] or completed ~= ARGV[6] then
  return 0
end

unfinish(id, queue, type, status)
local place_in_line = whole(places(1))
redis.call('HDEL', job, 'status', 'due', 'started', 'completed', 'ran', 'result')
if text ~= '' then
  redis.call('HDEL', job, 'error')
  redis.call('HSET', job, 'payload', text)
end
redis.call('HSET', job, 'place', 'ready', 'seq', place_in_line, 'abandoned', 0, 'budget', ARGV[7], 'updated', whole(now))
redis.call('SADD', K.queues, queue)
ready(queue, rank, id, place_in_line)
flush()
tell()
return 1
