-- needs: now, keys, together
-- `finish(id, queue, type, status, fields)`: the one way into history; `fields` is a flat list of what the end adds
-- to the job, or nil. The caller takes the job out of where it was. Complete only after `flush()` and `trim()`.
-- `keeps(status)`: for how many milliseconds such a job is kept, nil for ever.

local trimmed = {}

local function keeps(status)
  if status == 'completed' then return tonumber(ARGV[2]) end
  if status == 'cancelled' then return tonumber(ARGV[3]) end
end

local function finish(id, queue, type, status, fields)
  local job, at, keep = K.job(id), whole(now), keeps(status)
  redis.call('HDEL', job, 'token', 'worker', 'claimed', 'interrupted', 'cancel', 'retrying')
  redis.call('HSET', job, 'place', 'ended', 'status', status, 'completed', at, 'updated', at, unpack(fields or {}))
  together('ZADD', K.ended(queue, status), at, id)
  if keep then
    redis.call('PEXPIRE', job, whole(keep))
    together('ZADD', K.ended_type(type), at, id)
    trimmed[K.ended(queue, status)] = whole(now - keep * 1000)
    trimmed[K.ended_type(type)] = whole(now - math.max(tonumber(ARGV[2]), tonumber(ARGV[3])) * 1000)
  else
    together('ZADD', K.failed, at, id)
    together('ZADD', K.failed_type(type), at, id)
  end
end

-- Forget entries of jobs that have expired, a few from each index that grew, so that none grows for ever.
local TRIM = 500

local function trim()
  for index, before in pairs(trimmed) do
    local old = redis.call('ZRANGEBYSCORE', index, '-inf', before, 'LIMIT', 0, TRIM)
    for _, id in ipairs(old) do
      -- the id may have been enqueued anew since, and be anything by now
      local job = redis.call('HMGET', K.job(id), 'place', 'status', 'completed')
      local over = job[1] == 'ended' and job[2] ~= 'failed' and tonumber(job[3]) <= tonumber(before)
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
