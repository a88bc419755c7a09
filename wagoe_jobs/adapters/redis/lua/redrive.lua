-- Make a dead letter ready again, if it is still the one that was read.
-- needs: now, keys, together, ready, end, unfinish, job
-- KEYS[1], ARGV[1..3]  as for every script
-- ARGV[4]              the id
-- ARGV[5], ARGV[6]     its place in the line and its end, as they were read: each life has its own
-- ARGV[7]              how many repeats its new life may have
-- ARGV[8]              the new text, '' to keep the old one with the error beside it
-- Returns 1, or 0 when it is no dead letter any more, or another.

local id, text = ARGV[4], ARGV[8]
local job = K.job(id)
local found = job_of(id)

if not found or found.status ~= 'failed' or found.seq ~= ARGV[5] or found.since ~= ARGV[6] then
  return 0
end

unfinish(id, found.queue, found.type, found.status)
redis.call('HDEL', job, 'due', 'result', 'abandoned')
if text ~= '' then
  redis.call('HDEL', job, 'error')
  redis.call('HSET', job, 'payload', text)
end
local seq = whole(places(1))
redis.call('HSET', job, 'at', 'ready ' .. seq .. ' ' .. at .. ' ' .. found.last, 'budget', ARGV[7])
redis.call('SADD', K.queues, found.queue)
ready(found.queue, found.rank, id, seq)
flush()
tell()
return 1
