-- End a waiting job as cancelled, or ask the holder of a running one to stop.
-- needs: now, keys, room, together, scheduled, history, job
-- KEYS[1], ARGV[1..3]  as for every script
-- ARGV[4]              the id
-- Returns 1, or 0 when the job is unknown or has ended.

local id = ARGV[4]
local job = job_of(id)

if not job or job.place == 'ended' then
  return 0
end
if job.place == 'flight' then
  redis.call('HSET', K.job(id), 'cancel', '1')
  return 1
end

if job.place == 'ready' then
  together('ZREM', K.line(job.queue, job.rank), id)
else
  out_of_scheduled(job.queue, id)
end
into_history(id, job, job.seq, 'cancelled', job.last, '- -')
flush()
count_scheduled()
trim()
return 1
