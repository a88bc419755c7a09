-- needs: now, keys, room, together, ready, history, job
-- `held(id, token)`: the job of a claim while it holds, else nil. `back(id, job, ...)`: take it out of flight, to its
-- old place in the line, or into history when its cancellation was asked for; more fields and values may follow.
-- `settle_back()` completes what `back` began.

local function held(id, token)
  local job = job_of(id)
  return job and job.place == 'flight' and job.token == token and job or nil
end

local function back(id, job, ...)
  local name = K.job(id)
  local flags = redis.call('HMGET', name, 'cancel', 'interrupted')
  together('ZREM', K.in_flight(job.queue), id)
  if flags[1] or flags[2] then
    redis.call('HDEL', name, 'cancel', 'interrupted')
  end
  if flags[1] then
    into_history(id, job, job.seq, 'cancelled', job.last, job.since .. ' -', ...)
  else
    redis.call('HSET', name, 'at', 'ready ' .. job.seq .. ' ' .. at .. ' ' .. job.last, ...)
    ready(job.queue, job.rank, id, job.seq)
  end
end

local function settle_back()
  flush()
  trim()
  tell()
end
