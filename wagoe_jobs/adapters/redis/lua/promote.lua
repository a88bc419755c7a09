-- Make due jobs ready, earliest due first, at the end of the line.
-- needs: room, now, ready, scheduled, job
-- KEYS[1], ARGV[1..3]  as for every script
-- ARGV[4]              at most how many
-- Returns how many, and the ids that had no data.

local due = redis.call('ZRANGEBYSCORE', K.scheduled, '-inf', whole(now), 'LIMIT', 0, tonumber(ARGV[4]))
local promoted, dropped = 0, {}
local seq = #due > 0 and places(#due) - 1
for _, id in ipairs(due) do
  local job = job_of(id)
  if job and job.place == 'scheduled' then
    seq, promoted = seq + 1, promoted + 1
    redis.call('HSET', K.job(id), 'at', 'ready ' .. whole(seq) .. ' ' .. at .. ' ' .. job.last)
    out_of_scheduled(job.queue, id)
    ready(job.queue, job.rank, id, whole(seq))
  else
    dropped[#dropped + 1] = id
    together('ZREM', K.scheduled, id)
  end
end
flush()
count_scheduled()
if #dropped > 0 and redis.call('EXISTS', K.scheduled) == 0 then
  redis.call('DEL', K.scheduled_counts)  -- whose queue they had been, nobody knows any more
end
tell()
return {promoted, dropped}
