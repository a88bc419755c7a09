-- needs: now, keys, room, wake, together, claims
-- `claim(queue, worker, token, lease, limit)`: put the next jobs in flight, most urgent and then oldest first.
-- One that was abandoned before comes alone, and ends a batch before it. Ids without a whole job are dropped on the way.
-- Nothing is claimed under a token that `repair` has revoked: this call comes late, and nobody waits for its reply.
-- Returns the claims as `answer` makes them.

local BYTES = 4000000  -- a batch ends here whatever its limit: the server is busy for as long as it is made
local DROPS = 1000

local function claim(queue, worker, token, lease, limit)
  local expires, n, bytes, open, dropped = whole(now + lease), 0, 0, true, {}
  local flying, since, held_by = changes('ZADD', K.in_flight(queue)), ' ' .. at .. ' ', ' ' .. token .. ' ' .. worker

  -- Whether this one goes; the batch is closed when it was the last, or before it when it does not go.
  local function take(id, rank)
    local name = K.job(id)
    local job = redis.pcall('HMGET', name, 'payload', 'abandoned', 'at', 'is')  -- an error is no job either
    local payload, lone = job[1], job[2] and job[2] ~= '0'
    local seq, last = string.match(job[3] or '', '^%S+ (%d+) %S+ (%S+)')
    if not payload or not seq or not job[4] then
      dropped[#dropped + 1] = id
      together('ZREM', K.jobs, id)
      open = #dropped < DROPS
      return true
    end
    if n > 0 and (lone or bytes + #payload > BYTES) then
      open = false
      return false
    end
    n, bytes, open = n + 1, bytes + #payload, not lone
    call('HSET', name, 'at', 'flight ' .. seq .. since .. last .. held_by)
    put(flying, expires, id)
    claimed(id, payload, rank, seq, job[2])
    return true
  end

  local function take_line(line, rank)
    while open and n < limit do
      local standing, passed = call('ZRANGE', line, 0, limit - n - 1), 0
      while open and passed < #standing and take(standing[passed + 1], rank) do
        passed = passed + 1
      end
      if passed > 0 then
        call('ZREMRANGEBYRANK', line, 0, passed - 1)
      end
      if #standing == 0 then return end
    end
  end

  for rank = 0, call('EXISTS', K.revoked(token)) == 0 and 3 or -1 do
    take_line(K.line(queue, rank), rank)
  end
  flush()
  if n > 0 then
    local ids = claimed_ids()
    call('SET', K.batch(queue, worker), token .. ' ' .. ids, 'PX', whole(math.max(1, lease / 1000)))
    if call('EXISTS', K.line(queue, 0), K.line(queue, 1), K.line(queue, 2), K.line(queue, 3)) > 0 then
      wake(queue)  -- whoever heard of these jobs has its hands full now
    end
  end
  return answer(dropped)
end
