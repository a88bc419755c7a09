-- One queue's counts at one moment; changes nothing.
-- needs: now, keys, history
-- KEYS[1], ARGV[1..3]  as for every script
-- ARGV[4]              the queue
-- ARGV[5]              how many completed runs to tell, the latest
-- Returns the age in microseconds of the oldest ready job or '', then how many are ready (critical, high, normal,
-- low), scheduled, in flight, completed, failed, cancelled, then the durations of the runs.

local HEADS = 100  -- of each line: one that became ready late may be older than those before it

local queue = ARGV[4]
local oldest = nil
local answer = {''}

local function kept(status)
  local keep = keeps(status)
  return keep and '(' .. whole(now - keep * 1000) or '-inf'
end

for rank = 0, 3 do
  local line = K.line(queue, rank)
  for _, id in ipairs(redis.call('ZRANGE', line, 0, HEADS - 1)) do
    local created = redis.call('HGET', K.job(id), 'created')
    if created and (not oldest or tonumber(created) < oldest) then
      oldest = tonumber(created)
    end
  end
  answer[#answer + 1] = redis.call('ZCARD', line)
end
if oldest then
  answer[1] = whole(now - oldest)
end

answer[#answer + 1] = tonumber(redis.call('HGET', K.scheduled_counts, queue) or 0)
answer[#answer + 1] = redis.call('ZCARD', K.in_flight(queue))
for _, status in ipairs({'completed', 'failed', 'cancelled'}) do
  answer[#answer + 1] = redis.call('ZCOUNT', K.ended(queue, status), kept(status), '+inf')
end

local last = redis.call('ZREVRANGEBYSCORE', K.ended(queue, 'completed'), '+inf', kept('completed'), 'LIMIT', 0, ARGV[5])
for _, id in ipairs(last) do
  local stands = redis.call('HGET', K.job(id), 'at')
  local ran = string.match(stands or '', '^ended .* (%d+)$')
  if ran then
    answer[#answer + 1] = ran
  end
end
return answer
