-- needs: now, keys, together, job
-- `into_history(id, kind, seq, status, token, run, ...)`: the one way in. `kind` tells queue and type, and may be shared
-- by many; `token` is who settles it, or the one before; `run` is the start of the run and its microseconds, or '- -';
-- more fields and values may follow. The caller takes the job out of where it was. Complete only after `flush()` and
-- `trim()`.
-- `out_of_history(id, job)`: the one way out, from each index that it was put in. Complete only after `flush()`; what
-- becomes of the job itself is the caller's.
-- `keeps(status)`: for how many milliseconds such a job is kept, nil for ever.
-- `trim(most)`: remove some of what has been kept for its time, `TRIM` if not told how many; answers whether there may
-- be more. It looks where jobs end in this step, and after `sweep(queue)` at all that has ended in a queue.

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

-- What is to be added to each index of jobs of this kind that end so.
local function indexes_of(kind, status)
  local ended = K.ended(kind.queue, status)
  if not KEEPS[status] then
    return {changes('ZADD', ended), changes('ZADD', K.failed), changes('ZADD', K.failed_type(kind.type))}
  end
  local of_type = K.ended_type(kind.type)
  trimmed[ended] = before[status]
  trimmed[of_type] = before.either
  return {changes('ZADD', ended), changes('ZADD', of_type)}
end

local indexes = {completed = {}, failed = {}, cancelled = {}}
local since = ' ' .. at .. ' '

local function into_history(id, kind, seq, status, token, run, ...)
  call('HSET', K.job(id), 'at', 'ended ' .. seq .. since .. token .. ' ' .. status .. ' ' .. run, ...)
  local of_kind = indexes[status][kind]
  if not of_kind then
    of_kind = indexes_of(kind, status)
    indexes[status][kind] = of_kind
  end
  for i = 1, #of_kind do
    put(of_kind[i], at, id)
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

-- More than end in one step, so that it never grows; each takes the server about 10 microseconds.
local TRIM = 600

-- An id of an index: it may have been enqueued anew since, and be anything by now.
local function remove(id, index)
  local found = call('HMGET', K.job(id), 'at', 'is')
  local ended, status = string.match(found[1] or '', '^ended %S+ (%S+) %S+ (%S+)')
  local kind = kind_of(found[2] or '')
  if ended and before[status] and tonumber(ended) <= tonumber(before[status]) then
    call('UNLINK', K.job(id))
    together('ZREM', K.jobs, id)
    if kind.queue then
      out_of_history(id, {queue = kind.queue, type = kind.type, status = status})
    end
  elseif not found[1] then
    together('ZREM', K.jobs, id)
  end
  together('ZREM', index, id)
end

local function trim(most)
  local left = most or TRIM
  for index, oldest in pairs(trimmed) do
    for _, id in ipairs(call('ZRANGEBYSCORE', index, '-inf', oldest, 'LIMIT', 0, left)) do
      left = left - 1
      remove(id, index)
    end
    flush()  -- so that another index does not tell of them as well
  end
  trimmed = {}
  return left <= 0
end
