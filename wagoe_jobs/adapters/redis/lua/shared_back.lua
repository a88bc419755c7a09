-- needs: now, keys, together, ready, end
-- `look(id)`: a job's facts, nil without it. `back(id, job, fields)`: take it out of flight, to its old place in the
-- line, or into history when its cancellation was asked for. `settle_back()` completes what `back` began.

local function look(id)
  local f = redis.call('HMGET', K.job(id), 'place', 'token', 'queue', 'type', 'rank', 'seq', 'cancel',
    'interrupted', 'abandoned', 'budget', 'claimed')
  return f[1] and {
    place = f[1], token = f[2], queue = f[3], type = f[4], rank = f[5], seq = f[6], cancel = f[7],
    interrupted = f[8], abandoned = tonumber(f[9] or 0), budget = tonumber(f[10]), claimed = f[11],
  }
end

local function back(id, job, fields)
  together('ZREM', K.in_flight(job.queue), id)
  if job.cancel then
    redis.call('HDEL', K.job(id), 'token', 'interrupted', 'cancel')
    finish(id, job.queue, job.type, 'cancelled', fields)
    return
  end
  local name = K.job(id)
  redis.call('HDEL', name, 'token', 'interrupted', 'started')
  redis.call('HSET', name, 'place', 'ready', 'updated', at, unpack(fields))
  ready(job.queue, job.rank, id, job.seq)
end

local function settle_back()
  flush()
  trim()
  tell()
end
