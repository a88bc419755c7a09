-- Remove a job that waits or has ended, without a trace.
-- needs: now, keys, together, scheduled, end, unfinish
-- KEYS[1], ARGV[1..3]  as for every script
-- ARGV[4]              the id
-- Returns 1, or 0 when the job is unknown, in flight, or ended longer ago than such are kept.

local id = ARGV[4]
local found = redis.call('HMGET', K.job(id), 'place', 'queue', 'rank', 'type', 'status', 'completed')
local place, queue, rank, type, status, completed = unpack(found)

if not place or place == 'flight' then
  return 0
end

local known = 1
if place == 'ready' then
  together('ZREM', K.line(queue, rank), id)
elseif place == 'scheduled' then
  unpark(queue, id)
else
  local keep = keeps(status)
  if keep and tonumber(completed) <= now - keep * 1000 then
    known = 0
  end
  unfinish(id, queue, type, status)
end
together('ZREM', K.jobs, id)
flush()
count_scheduled()
redis.call('UNLINK', K.job(id))
return known
