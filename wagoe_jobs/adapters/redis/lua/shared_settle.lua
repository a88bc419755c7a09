-- needs: now, keys, room, together, ready, scheduled, history, job, texts
-- `settle(first)`: end the claims that stand in ARGV[first], one a line: id, token, status, start of the run, its
-- microseconds, which texts it has, p(ayload), r(esult), e(rror) or -, and for a follow-up its delay and the budget
-- that the new text leaves or -.
-- The texts follow as `text_reader` takes them.
-- Returns one letter a claim: a(pplied), y: this token settled it before, l(ost).

local function follow_up(id, name, job, status, token, delay, ...)
  local due = now + delay
  if due > now then
    local how = status == 'retrying' and 'retrying' or '-'
    local stands = 'scheduled ' .. job.seq .. ' ' .. at .. ' ' .. token .. ' ' .. how
    redis.call('HSET', name, 'at', stands, 'due', whole(due), ...)
    into_scheduled(job.queue, id, due)
  else
    local seq = whole(places(1))
    redis.call('HSET', name, 'at', 'ready ' .. seq .. ' ' .. at .. ' ' .. token, 'due', whole(due), ...)
    ready(job.queue, job.rank, id, seq)
  end
end

-- Whatever is more than the end of a run without any text.
local function apply(id, name, job, status, token, run, rest, payload, result, err)
  local delay, budget = string.match(rest, '(%S+) (%S+)')
  local fields = {}
  local function add(field, value)
    if value then
      fields[#fields + 1], fields[#fields + 2] = field, value
    end
  end
  if payload then
    redis.call('HDEL', name, 'error')
  end
  add('payload', payload)
  add('budget', budget ~= '-' and budget)
  add('error', err)
  if job.cancel and status ~= 'completed' then
    into_history(id, job, 'cancelled', token, run, unpack(fields))
  elseif delay then
    follow_up(id, name, job, status, token, tonumber(delay), unpack(fields))
  else
    add('result', result)
    into_history(id, job, status, token, run, unpack(fields))
  end
end

local ROW = '(%S+) (%S+) (%S+) (%S+ %S+) (%S+)([^\n]*)'
local HELD = '^flight (%S+) %S+ (%S+) (%S+)'

local function settle(first)
  local answers, next_text, n = {}, text_reader(first + 1), 0
  for id, token, status, run, which, rest in string.gmatch(ARGV[first], ROW) do
    local name, answered, payload, result, err = K.job(id), 'l', nil, nil, nil
    if which ~= '-' then
      payload, result, err = texts_of(which, next_text)
    end
    local found = redis.call('HMGET', name, 'at', 'is', 'cancel', 'interrupted')
    local seq, last, holder = string.match(found[1] or '', HELD)
    local kind = kind_of(found[2] or '')
    if holder == token and kind.queue then
      answered = 'a'
      local job = {queue = kind.queue, type = kind.type, rank = kind.rank, seq = seq, cancel = found[3]}
      together('ZREM', K.in_flight(job.queue), id)
      if found[3] or found[4] then
        redis.call('HDEL', name, 'interrupted', 'cancel')
      end
      if which == '-' and rest == '' and not job.cancel then
        into_history(id, job, status, token, run)
      else
        apply(id, name, job, status, token, run, rest, payload, result, err)
      end
    elseif string.match(found[1] or '', '^%S+ %S+ %S+ (%S+)') == token then
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
