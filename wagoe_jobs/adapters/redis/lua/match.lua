-- Which of these jobs are as a search wants them; changes nothing.
-- needs: now, keys, history, job
-- KEYS[1], ARGV[1..3]  as for every script
-- ARGV[4]              the status, '' for any
-- ARGV[5..7]           type, queue, tenant, each with '=' before it, '' for any
-- ARGV[8], ARGV[9]     the first instant of creation and the first after those, '' for any
-- ARGV[10..]           ids, a few hundred
-- Returns those that are, in the order given, without those that are gone or ended longer ago than such are kept.

local WAITING = {ready = 'pending', scheduled = 'pending', flight = 'running'}

local function status_of(job)
  if job.place == 'ended' then
    local keep = keeps(job.status)
    return not (keep and tonumber(job.since) <= now - keep * 1000) and job.status
  end
  return job.retrying and 'retrying' or WAITING[job.place]
end

local function is(fact, wanted)
  return wanted == '' or fact == wanted
end

local function in_time(created)
  return (ARGV[8] == '' or tonumber(created) >= tonumber(ARGV[8]))
    and (ARGV[9] == '' or tonumber(created) < tonumber(ARGV[9]))
end

local found = {}
for i = 10, #ARGV do
  local job = job_of(ARGV[i])
  local status = job and status_of(job)
  if status and is(status, ARGV[4]) and in_time(redis.call('HGET', K.job(ARGV[i]), 'created'))
    and is('=' .. job.type, ARGV[5]) and is('=' .. job.queue, ARGV[6]) and is(job.tenant, ARGV[7]) then
    found[#found + 1] = ARGV[i]
  end
end
return found
