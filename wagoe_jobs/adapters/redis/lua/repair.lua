-- Tell again what an earlier call claimed whose reply was lost, each with a lease that begins now. Where there is
-- nothing, the call may still be on its way: its token is revoked, so that it claims nothing when it comes.
-- needs: now, keys, room, claims, job
-- KEYS[1], ARGV[1..3]  as for every script
-- ARGV[4], ARGV[5]     queue and worker
-- ARGV[6]              token of that call
-- ARGV[7]              lease in microseconds
-- Returns the claims as `answer` makes them.

local REVOKED = 600000  -- milliseconds: no network keeps a command for as long

local queue, batch, token = ARGV[4], K.batch(ARGV[4], ARGV[5]), ARGV[6]
local expires = whole(now + tonumber(ARGV[7]))
local stored = redis.call('GET', batch)
if not stored or string.sub(stored, 1, #token) ~= token then
  redis.call('SET', K.revoked(token), 1, 'PX', REVOKED)
else
  for id in string.gmatch(string.sub(stored, #token + 2), '%S+') do
    local job = job_of(id)
    if job and job.place == 'flight' and job.token == token then
      local found = redis.call('HMGET', K.job(id), 'payload', 'abandoned')
      local stands = 'flight ' .. job.seq .. ' ' .. at .. ' ' .. job.last .. ' ' .. token .. ' ' .. job.worker
      redis.call('HSET', K.job(id), 'at', stands)
      redis.call('ZADD', K.in_flight(queue), expires, id)
      claimed(id, found[1], job.rank, job.seq, found[2])
    end
  end
end
return answer({})
