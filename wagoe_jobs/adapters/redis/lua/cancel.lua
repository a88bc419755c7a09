-- End a waiting job as cancelled, or ask the holder of a running one to stop.
-- needs: now, keys, together, scheduled, end
-- KEYS[1], ARGV[1..3]  as for every script
-- ARGV[4]              the id
-- Returns 1, or 0 when the job is unknown or has ended.

local id = ARGV[4]
local place, queue, rank, type = unpack(redis.call('HMGET', K.job(id), 'place', 'queue', 'rank', 'type'))

if not place or place == 'ended' then
  return 0
end
if place == 'flight' then
  redis.call('HSET', K.job(id), 'cancel', '1')
  return 1
end

if place == 'ready' then
  together('ZREM', K.line(queue, rank), id)
else
  unpark(queue, id)
end
finish(id, queue, type, 'cancelled')
flush()
count_scheduled()
trim()
return 1
