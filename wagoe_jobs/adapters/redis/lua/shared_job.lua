-- needs: keys
-- Two fields of a job's hash are packed, since the server's time goes by fields. `is` never changes, one a line: type,
-- queue, rank, and '=' with the tenant, or nothing. `at` says where it stands, in words: place, place in the line or -,
-- since when, the token that settled it last or -, and then what belongs to the place:
--   ready       nothing
--   scheduled   'retrying' or -
--   flight      the token of the claim, and the worker that has it
--   ended       status, start of the run or -, its microseconds or -
-- `job_of(id)`: all of that in a table, nil for an id without a whole job. `kind_of(is)`: what `is` alone tells.
-- `flight_of(at)`: place in the line, the token that settled it last and that of the claim; nothing when `at` is nothing
-- or tells of no claim. `claim_at(at)`: the last of the three.

local kinds = {}

local function kind_of(is)
  local kind = kinds[is]
  if not kind then
    kind = {}
    kind.type, kind.queue, kind.rank, kind.tenant = string.match(is, '^([^\n]*)\n([^\n]*)\n(%d)\n(.*)$')
    kinds[is] = kind
  end
  return kind
end

local flights = {}  -- claims of one call differ in their places only

local function flight_of(stands)
  local seq, rest = string.match(stands or '', '^flight (%S+) (.*)$')
  if not seq then return nil end
  local flight = flights[rest]
  if not flight then
    flight = {string.match(rest, '^%S+ (%S+) (%S+)')}
    flights[rest] = flight
  end
  return seq, flight[1], flight[2]
end

local function claim_at(stands)
  local _, _, token = flight_of(stands)
  return token
end

local function job_of(id)
  local found = redis.pcall('HMGET', K.job(id), 'is', 'at')  -- an error is no job either
  if not found[1] or not found[2] then return nil end
  local job, kind, rest = {}, kind_of(found[1]), nil
  for name, value in pairs(kind) do job[name] = value end
  job.place, job.seq, job.since, job.last, rest = string.match(found[2], '^(%S+) (%S+) (%S+) (%S+) ?(.*)$')
  if job.place == 'flight' then
    job.token, job.worker = string.match(rest, '^(%S+) (.*)$')
  elseif job.place == 'ended' then
    job.status, job.started, job.ran = string.match(rest, '^(%S+) (%S+) (%S+)$')
  else
    job.retrying = rest == 'retrying'
  end
  local is_whole = job.type and job.place and (job.place ~= 'ended' or job.status)
  return is_whole and job or nil
end
