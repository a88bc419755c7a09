-- needs: now, keys, together, ready, scheduled, end
-- `settle(first)`: end the claims that stand in ARGV[first], one a line: id, token, status, start of the run, its
-- microseconds, which texts it has, p(ayload), r(esult), e(rror) or -, and for a follow-up its delay and the budget
-- that the new text leaves or -. A job keeps the token that settled it last, in `last` while it is claimed anew.
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
  local due = now + delay
  if due > now then
    if status == 'retrying' then
      redis.call('HSET', name, 'retrying', '1')
    end
    redis.call('HSET', name, 'place', 'scheduled', 'due', whole(due), 'updated', at)
    park(job.queue, id, due)
  else
    local seq = whole(places(1))
    redis.call('HSET', name, 'place', 'ready', 'due', whole(due), 'updated', at, 'seq', seq)
    ready(job.queue, job.rank, id, seq)
  end
end

local function apply(id, name, job, status, fields, rest, payload, result, err)
  local delay, budget = string.match(rest, '(%S+) (%S+)')
  local function add(field, value)
    fields[#fields + 1], fields[#fields + 2] = field, value
  end
  if payload then
    redis.call('HDEL', name, 'error')
    add('payload', payload)
  end
  if budget and budget ~= '-' then add('budget', budget) end
  if err then add('error', err) end
  if job.cancel and status ~= 'completed' then
    finish(id, job.queue, job.type, 'cancelled', fields)
  elseif not delay then
    if result then add('result', result) end
    finish(id, job.queue, job.type, status, fields)
  else
    redis.call('HSET', name, unpack(fields))
    follow_up(id, name, job, status, tonumber(delay))
  end
end

local ROW = '(%S+) (%S+) (%S+) (%S+) (%S+) (%S+)([^\n]*)'

local function settle(first)
  local answers, next_text, n = {}, text_reader(first), 0
  for id, token, status, started, ran, which, rest in string.gmatch(ARGV[first], ROW) do
    local name, answered, payload, result, err = K.job(id), 'l', nil, nil, nil
    if which ~= '-' then
      payload, result, err = texts_of(which, next_text)
    end
    local held = redis.call('HMGET', name, 'place', 'token', 'queue', 'type', 'rank', 'cancel', 'interrupted', 'last')
    if held[1] ~= 'flight' then
      answered = (held[2] or held[8]) == token and 'y' or 'l'  -- a reclaim or a hand-back took the later token away
    elseif held[2] == token then
      answered = 'a'
      together('ZREM', K.in_flight(held[3]), id)
      if held[6] or held[7] then
        redis.call('HDEL', name, 'interrupted', 'cancel')
      end
      local job = {queue = held[3], type = held[4], rank = held[5], cancel = held[6]}
      apply(id, name, job, status, {'started', started, 'ran', ran}, rest, payload, result, err)
    elseif held[8] == token then
      answered = 'y'
    end
    n = n + 1
    answers[n] = answered
  end
  flush()
  trim()
  count_scheduled()
  tell()
  return table.concat(answers)
end
