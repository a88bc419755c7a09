-- needs: keys
-- Mark claims whose process ends by plan: their reclaim will not be counted.
-- KEYS: seq
-- ARGV: 'id token', one pair a line
-- Returns how many were held.

local held = 0
for id, token in string.gmatch(ARGV[4], '(%S+) (%S+)') do
  local stands = redis.call('HGET', K.job(id), 'at')
  if string.match(stands or '', '^flight %S+ %S+ %S+ (%S+)') == token then
    redis.call('HSET', K.job(id), 'interrupted', '1')
    held = held + 1
  end
end
return held
