-- Take back jobs whose lease has ended: to the line, or into history as dead letters or cancelled.
-- needs: back
-- KEYS[1], ARGV[1..3]  as for every script
-- ARGV[4]              at most how many
-- ARGV[5], ARGV[6]     the error of a dead letter in two parts, between which the number of abandonments belongs
-- Returns five values a job: id, type, queue, abandonments, and '1' when it was buried.

local left, before, after = tonumber(ARGV[4]), ARGV[5], ARGV[6]
local told = {}

-- as core.outcome.buries_abandoned has it; the budget is how many repeats were left
local function buries(abandoned, budget)
  return abandoned >= 2 and abandoned > budget
end

local function reclaim(id, job)
  local found = redis.call('HMGET', K.job(id), 'interrupted', 'cancel', 'abandoned', 'budget')
  local lost, budget = found[1] and 0 or 1, tonumber(found[4])
  local abandoned, buried = tonumber(found[3] or 0) + lost, '0'
  if lost == 1 and not found[2] and buries(abandoned, budget) then
    buried = '1'
    together('ZREM', K.in_flight(job.queue), id)
    local letter = before .. whole(abandoned) .. after
    into_history(id, job, job.seq, 'failed', job.last, job.since .. ' -', 'abandoned', whole(abandoned), 'error', letter)
  else
    back(id, job, 'abandoned', whole(abandoned))
  end
  for _, value in ipairs({id, job.type, job.queue, whole(abandoned), buried}) do
    told[#told + 1] = value
  end
end

for _, queue in ipairs(redis.call('SMEMBERS', K.queues)) do
  if left <= 0 then break end
  local line = K.in_flight(queue)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', line, '-inf', '(' .. whole(now), 'LIMIT', 0, left)) do
    local job = job_of(id)
    if job and job.place == 'flight' then
      reclaim(id, job)
    else
      together('ZREM', line, id)
    end
    left = left - 1
  end
end
settle_back()
return told
