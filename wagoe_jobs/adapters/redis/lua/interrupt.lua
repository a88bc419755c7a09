-- Mark claims whose process ends by plan: their reclaim will not be counted.
-- needs: keys, room, job
-- KEYS[1], ARGV[1..3]  as for every script
-- ARGV[4]              'id token', one pair a line
-- Returns how many were held.

local marked = 0
for id, token in string.gmatch(ARGV[4], '(%S+) (%S+)') do
  if claim_at(redis.call('HGET', K.job(id), 'at')) == token then
    redis.call('HSET', K.job(id), 'interrupted', '1')
    marked = marked + 1
  end
end
return marked
