-- Which of these jobs are as a search wants them; changes nothing.
-- needs: now, keys, end
-- KEYS[1], ARGV[1..3]  as for every script
-- ARGV[4]              the status, '' for any
-- ARGV[5..7]           type, queue, tenant, each with '=' before it, '' for any
-- ARGV[8], ARGV[9]     the first instant of creation and the first after those, '' for any
-- ARGV[10..]           ids, at most 500
-- Returns those that are, in the order given, without those that are gone or ended longer ago than such are kept.

local WAITING = {ready = 'pending', scheduled = 'pending', flight = 'running'}

local function is(field, wanted)
  return wanted == '' or (field and '=' .. field == wanted)
end

local function status_of(job)
  local place, status, retrying, completed = job[1], job[2], job[3], job[4]
  if place == 'ended' then
    local keep = keeps(status)
    return not (keep and tonumber(completed) <= now - keep * 1000) and status
  end
  return place == 'scheduled' and retrying and 'retrying' or WAITING[place]
end

local function in_time(created)
  return (ARGV[8] == '' or tonumber(created) >= tonumber(ARGV[8]))
    and (ARGV[9] == '' or tonumber(created) < tonumber(ARGV[9]))
end

local found = {}
for i = 10, #ARGV do
  local job = redis.call(
    'HMGET', K.job(ARGV[i]), 'place', 'status', 'retrying', 'completed', 'type', 'queue', 'tenant', 'created')
  local status = job[1] and status_of(job)
  if status and (ARGV[4] == '' or status == ARGV[4]) and in_time(job[8])
    and is(job[5], ARGV[5]) and is(job[6], ARGV[6]) and is(job[7], ARGV[7]) then
    found[#found + 1] = ARGV[i]
  end
end
return found
