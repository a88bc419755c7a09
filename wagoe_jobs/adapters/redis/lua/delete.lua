-- Remove a job that waits or has ended, without a trace.
-- needs: now, keys, together, scheduled, history, job
-- KEYS[1], ARGV[1..3]  as for every script
-- ARGV[4]              the id
-- Returns 1, or 0 when the job is unknown, in flight, or ended longer ago than such are kept.

local id = ARGV[4]
local job = job_of(id)

if not job or job.place == 'flight' then
  return 0
end

local known = 1
if job.place == 'ready' then
  together('ZREM', K.line(job.queue, job.rank), id)
elseif job.place == 'scheduled' then
  out_of_scheduled(job.queue, id)
else
  local keep = keeps(job.status)
  if keep and tonumber(job.since) <= now - keep * 1000 then
    known = 0
  end
  out_of_history(id, job)
end
together('ZREM', K.jobs, id)
flush()
count_scheduled()
redis.call('UNLINK', K.job(id))
return known
