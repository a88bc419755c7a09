-- needs: now, keys, together, ready, scheduled, end
-- `settle(first)`: end the claims that stand in ARGV[first], one a line: id, token, status, start of the run, its
-- microseconds, delay, budget that the new text leaves or -, and which texts it has: p(ayload), r(esult), e(rror) or -.
-- The texts follow, one an argument, or as lines of one argument when ARGV[first + 1] says 'lines'.
-- Returns one letter a claim: a(pplied), y: this token settled it before, l(ost).

local function text_reader(first)
  local at, from = first + 1, 1
  local lines = ARGV[first + 1] == 'lines' and ARGV[first + 2]
  return function()
    if not lines then
      at = at + 1
      return ARGV[at]
    end
    local line_end = string.find(lines, '\n', from, true) or #lines + 1
    local text = string.sub(lines, from, line_end - 1)
    from = line_end + 1
    return text
  end
end

local function texts_of(which, next_text)
  local payload = string.find(which, 'p', 1, true) and next_text() or nil
  local result = string.find(which, 'r', 1, true) and next_text() or nil
  local err = string.find(which, 'e', 1, true) and next_text() or nil
  return payload, result, err
end

local function follow_up(id, name, job, status, delay)
  local due, at = now + delay, whole(now)
  redis.call('HDEL', name, 'token', 'worker', 'claimed', 'interrupted', 'cancel', 'retrying')
  if due > now then
    if status == 'retrying' then
      redis.call('HSET', name, 'place', 'scheduled', 'due', whole(due), 'updated', at, 'retrying', '1')
    else
      redis.call('HSET', name, 'place', 'scheduled', 'due', whole(due), 'updated', at)
    end
    park(job.queue, id, due)
  else
    local seq = whole(places(1))
    redis.call('HSET', name, 'place', 'ready', 'due', whole(due), 'updated', at, 'seq', seq)
    ready(job.queue, job.rank, id, seq)
  end
end

local ENDS = {completed = true, failed = true, cancelled = true}

local function apply(id, name, job, row, payload, result, err)
  local fields = {'last', row.token, 'started', row.started, 'ran', row.ran}
  local function add(field, value)
    fields[#fields + 1], fields[#fields + 2] = field, value
  end
  if payload then
    redis.call('HDEL', name, 'error')
    add('payload', payload)
  end
  if row.budget ~= '-' then add('budget', row.budget) end
  if err then add('error', err) end
  together('ZREM', K.in_flight(job.queue), id)
  if job.cancel and row.status ~= 'completed' then
    finish(id, job.queue, job.type, 'cancelled', fields)
  elseif ENDS[row.status] then
    if result then add('result', result) end
    finish(id, job.queue, job.type, row.status, fields)
  else
    redis.call('HSET', name, unpack(fields))
    follow_up(id, name, job, row.status, tonumber(row.delay))
  end
end

local ROW = '(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+)'

local function settle(first)
  local answers, next_text = {}, text_reader(first)
  for id, token, status, started, ran, delay, budget, which in string.gmatch(ARGV[first], ROW) do
    local name, row = K.job(id), {token = token, status = status, started = started, ran = ran}
    row.delay, row.budget = delay, budget
    local payload, result, err = texts_of(which, next_text)
    local held = redis.call('HMGET', name, 'place', 'token', 'last', 'cancel', 'queue', 'type', 'rank')
    local answered = held[3] == token and 'y' or 'l'
    if held[1] == 'flight' and held[2] == token then
      local job = {cancel = held[4], queue = held[5], type = held[6], rank = held[7]}
      apply(id, name, job, row, payload, result, err)
      answered = 'a'
    end
    answers[#answers + 1] = answered
  end
  flush()
  trim()
  count_scheduled()
  tell()
  return table.concat(answers)
end
