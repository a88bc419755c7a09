-- needs: now, keys, together
-- `into_history(id, job, status, token, run, ...)`: the one way in. `job` tells queue, type and seq; `token` is who
-- settles it, or the one before; `run` is the start of the run and its microseconds, or '- -'; more fields and values
-- may follow. The caller takes the job out of where it was. Complete only after `flush()` and `trim()`.
-- `out_of_history(id, job)`: the one way out, from each index that it was put in. Complete only after `flush()`; what
-- becomes of the job itself is the caller's.
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

local function into_history(id, job, status, token, run, ...)
  local stands = 'ended ' .. job.seq .. ' ' .. at .. ' ' .. token .. ' ' .. status .. ' ' .. run
  redis.call('HSET', K.job(id), 'at', stands, ...)
  local ended = K.ended(job.queue, status)
  together('ZADD', ended, at, id)
  if KEEPS[status] then
    local of_type = K.ended_type(job.type)
    together('ZADD', of_type, at, id)
    trimmed[ended] = before[status]
    trimmed[of_type] = before.either
  else
    together('ZADD', K.failed, at, id)
    together('ZADD', K.failed_type(job.type), at, id)
  end
end

local function out_of_history(id, job)
  together('ZREM', K.ended(job.queue, job.status), id)
  if KEEPS[job.status] then
    together('ZREM', K.ended_type(job.type), id)
  else
    together('ZREM', K.failed, id)
    together('ZREM', K.failed_type(job.type), id)
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
      local stands = redis.call('HGET', K.job(id), 'at')
      local ended, status = string.match(stands or '', '^ended %S+ (%S+) %S+ (%S+)')
      local over = ended and status ~= 'failed' and tonumber(ended) <= tonumber(oldest)
      if over then
        redis.call('UNLINK', K.job(id))
      end
      if over or not stands then
        together('ZREM', K.jobs, id)
      end
      together('ZREM', index, id)
    end
  end
  trimmed = {}
  flush()
end
