-- The names of all keys, as keys.py spells them.

local call = redis.call  -- for what is done for each job of a batch: found without a look into a table
local P = string.sub(KEYS[1], 1, -4)
local PRIORITIES = {[0] = 'critical', 'high', 'normal', 'low'}

local K = {
  seq = KEYS[1],
  scheduled = P .. 'jobs:scheduled',
  scheduled_counts = P .. 'scheduled:counts',
  queues = P .. 'queues',
  jobs = P .. 'jobs',
  failed = P .. 'jobs:failed',
  keys = P .. 'keys',
  workers = P .. 'workers',
  recurring = P .. 'recurring',
  ticker = P .. 'ticker',
}

local named, name_of_job

function K.job(id)  -- asked for the same job more than once
  if id ~= named then
    named, name_of_job = id, P .. 'job:' .. id
  end
  return name_of_job
end

function K.line(queue, rank) return P .. 'queue:' .. queue .. ':' .. PRIORITIES[tonumber(rank)] end
function K.in_flight(queue) return P .. 'inflight:' .. queue end
function K.ended(queue, status) return P .. 'ended:' .. queue .. ':' .. status end
function K.ended_type(type) return P .. 'ended-type:' .. type end
function K.failed_type(type) return P .. 'failed-type:' .. type end
function K.wake(queue) return P .. 'wake:' .. queue end
function K.batch(queue, worker) return P .. 'batch:' .. queue .. ':' .. worker end
function K.revoked(token) return P .. 'revoked:' .. token end
function K.key(scope, key) return P .. 'key:' .. #scope .. ':' .. scope .. ':' .. key end
function K.worker(name) return P .. 'worker:' .. name end
