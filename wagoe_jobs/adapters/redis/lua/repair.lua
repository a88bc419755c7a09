-- needs: now, keys, claims
-- Tell again what an earlier call claimed whose reply was lost, each with a lease that begins now.
-- KEYS: seq
-- ARGV: queue, worker, token of that call, lease in microseconds
-- Returns the claims as `answer` makes them.

local queue, batch, token = ARGV[4], K.batch(ARGV[4], ARGV[5]), ARGV[6]
local expires = whole(now + tonumber(ARGV[7]))
local stored = redis.call('GET', batch)
if stored and string.sub(stored, 1, #token) == token then
  for id in string.gmatch(string.sub(stored, #token + 2), '%S+') do
    local job = redis.call('HMGET', K.job(id), 'place', 'token', 'payload', 'rank', 'seq', 'abandoned')
    if job[1] == 'flight' and job[2] == token then
      redis.call('HSET', K.job(id), 'claimed', at)
      redis.call('ZADD', K.in_flight(queue), expires, id)
      claimed(id, job[3], job[4], job[5], job[6])
    end
  end
end
return answer({})
