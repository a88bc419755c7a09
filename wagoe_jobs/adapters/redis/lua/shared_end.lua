-- needs: now, keys, together
-- `finish(id, queue, type, status, fields)`: the one way into history; `fields` is a flat list of what the end adds
-- to the job, or nil. The caller takes the job out of where it was. Complete only after `flush()` and `trim()`.
-- `keeps(status)`: for how many milliseconds such a job is kept, nil for ever.
-- `sweep(queue)`: let `trim()` look at what has ended in a queue where nothing ends at the moment.

local KEEPS = {completed = tonumber(ARGV[2]), cancelled = tonumber(ARGV[3])}
local before = {
  completed = whole(now - KEEPS.completed * 1000),
  cancelled = whole(now - KEEPS.cancelled * 1000),
  either = whole(now - math.max(KEEPS.completed, KEEPS.cancelled) * 1000),
}
local trimmed = {}

local function keeps(status)
  return KEEPS[status]
end

local function finish(id, queue, type, status, fields)
  redis.call('HSET', K.job(id), 'place', 'ended', 'status', status, 'completed', at, unpack(fields or {}))
  local ended = K.ended(queue, status)
  together('ZADD', ended, at, id)
  if KEEPS[status] then
    local of_type = K.ended_type(type)
    together('ZADD', of_type, at, id)
    trimmed[ended] = before[status]
    trimmed[of_type] = before.either
  else
    together('ZADD', K.failed, at, id)
    together('ZADD', K.failed_type(type), at, id)
  end
end

local function sweep(queue)
  for status in pairs(KEEPS) do
    trimmed[K.ended(queue, status)] = before[status]
  end
end

-- Remove jobs that have been kept for their time: more than ended in this step, and so many that it stays short.
local TRIM = 1500

local function trim()
  local left = TRIM
  for index, oldest in pairs(trimmed) do
    for _, id in ipairs(redis.call('ZRANGEBYSCORE', index, '-inf', oldest, 'LIMIT', 0, left)) do
      left = left - 1
      -- the id may have been enqueued anew since, and be anything by now
      local job = redis.call('HMGET', K.job(id), 'place', 'status', 'completed')
      local over = job[1] == 'ended' and job[2] ~= 'failed' and tonumber(job[3]) <= tonumber(oldest)
      if over then
        redis.call('UNLINK', K.job(id))
      end
      if over or not job[1] then
        together('ZREM', K.jobs, id)
      end
      together('ZREM', index, id)
    end
  end
  trimmed = {}
  flush()
end
