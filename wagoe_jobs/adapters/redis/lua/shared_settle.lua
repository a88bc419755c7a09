-- needs: now, keys, room, together, ready, scheduled, history, job, texts
-- `settle(first)`: end the claims that stand in ARGV[first], one a line: id, token, which texts it has, p(ayload),
-- r(esult), e(rror) or -, status, start of the run, its microseconds, and for a follow-up its delay and the budget that
-- the new text leaves or -.
-- The texts follow as `text_reader` takes them.
-- Returns one letter a claim: a(pplied), y: this token settled it before, l(ost).

local function follow_up(id, name, job, status, token, delay, ...)
  local due = now + delay
  if due > now then
    local how = status == 'retrying' and 'retrying' or '-'
    local stands = 'scheduled ' .. job.seq .. ' ' .. at .. ' ' .. token .. ' ' .. how
    call('HSET', name, 'at', stands, 'due', whole(due), ...)
    into_scheduled(job.kind.queue, id, due)
  else
    local seq = whole(places(1))
    call('HSET', name, 'at', 'ready ' .. seq .. ' ' .. at .. ' ' .. token, 'due', whole(due), ...)
    ready(job.kind.queue, job.kind.rank, id, seq)
  end
end

local ENDS = {completed = true, failed = true, cancelled = true}

local function field_of(result, err)
  if result then return 'result', result end
  if err then return 'error', err end
end

local function add(fields, field, value)
  if value then
    local n = #fields
    fields[n + 1], fields[n + 2] = field, value
  end
end

-- Whatever is more than the end of a run with one text or none.
local function apply(id, name, job, status, token, run, payload, result, err)
  local ran, delay, budget = string.match(run, '^(%S+ %S+) ?(%S*) ?(%S*)$')
  local fields = {}
  if payload then
    call('HDEL', name, 'error')
  end
  add(fields, 'payload', payload)
  add(fields, 'budget', budget ~= '-' and budget ~= '' and budget)
  add(fields, 'error', err)
  if job.cancel and status ~= 'completed' then
    into_history(id, job.kind, job.seq, 'cancelled', token, ran, unpack(fields))
  elseif delay ~= '' then
    follow_up(id, name, job, status, token, tonumber(delay), unpack(fields))
  else
    add(fields, 'result', result)
    into_history(id, job.kind, job.seq, status, token, ran, unpack(fields))
  end
end

local landing = {}

local function out_of_flight(kind, id)
  landing[kind] = landing[kind] or changes('ZREM', K.in_flight(kind.queue))
  put(landing[kind], id)
end

local function settle(first)
  local rows, next_text, from, answers, n = ARGV[first], text_reader(first + 1), 1, {}, 0
  while from <= #rows do
    local answered, id, token, which, status, run, payload, result, err = 'l'
    from, id, token, which, status, run = row(rows, from)
    if which ~= '-' then
      payload, result, err = texts_of(which, next_text)
    end
    local name = K.job(id)
    local found = call('HMGET', name, 'at', 'is', 'cancel', 'interrupted')
    local seq, last, holder = flight_of(found[1])
    local kind = kind_of(found[2] or '')
    if holder == token and kind.queue then
      answered = 'a'
      out_of_flight(kind, id)
      if found[3] or found[4] then
        call('HDEL', name, 'interrupted', 'cancel')
      end
      if ENDS[status] and not found[3] and not payload and not (result and err) then
        into_history(id, kind, seq, status, token, run, field_of(result, err))
      else
        apply(id, name, {kind = kind, seq = seq, cancel = found[3]}, status, token, run, payload, result, err)
      end
    elseif (last or string.match(found[1] or '', '^%S+ %S+ %S+ (%S+)')) == token then
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
