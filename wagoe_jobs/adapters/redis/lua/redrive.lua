-- Make a dead letter ready again, if it is still the one that was read.
-- needs: now, keys, together, ready, history, job
-- KEYS[1], ARGV[1..3]  as for every script
-- ARGV[4]              the id
-- ARGV[5], ARGV[6]     its place in the line and its end, as they were read: each life has its own
-- ARGV[7]              how many repeats its new life may have
-- ARGV[8]              the new text, '' to keep the old one with the error beside it
-- Returns 1, or 0 when it is no dead letter any more, or another.

local id, text = ARGV[4], ARGV[8]
local name, job = K.job(id), job_of(id)

if not job or job.status ~= 'failed' or job.seq ~= ARGV[5] or job.since ~= ARGV[6] then
  return 0
end

out_of_history(id, job)
redis.call('HDEL', name, 'due', 'result', 'abandoned')
if text ~= '' then
  redis.call('HDEL', name, 'error')
  redis.call('HSET', name, 'payload', text)
end
local seq = whole(places(1))
redis.call('HSET', name, 'at', 'ready ' .. seq .. ' ' .. at .. ' ' .. job.last, 'budget', ARGV[7])
redis.call('SADD', K.queues, job.queue)
ready(job.queue, job.rank, id, seq)
flush()
tell()
return 1
