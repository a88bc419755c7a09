-- Who was heard of lately, and forget workers that are gone.
-- needs: now, keys, presence
-- KEYS[1], ARGV[1..3]  as for every script
-- ARGV[4]              after how many microseconds of silence a worker is gone
-- Returns names, each followed by how many microseconds ago it was heard of, as text.

forget_gone(ARGV[4])
local heard = redis.call('ZRANGEBYSCORE', K.workers, '(' .. whole(now - tonumber(ARGV[4])), '+inf', 'WITHSCORES')
for i = 2, #heard, 2 do
  heard[i] = whole(now - tonumber(heard[i]))
end
return heard
