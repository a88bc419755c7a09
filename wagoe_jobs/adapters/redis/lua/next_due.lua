-- How long until the earliest scheduled job is due; changes nothing.
-- needs: now, keys
-- KEYS[1], ARGV[1..3]  as for every script
-- Returns microseconds as text, not above zero when one is due, or nil without any.

local LOOKED_AT = 100

local first = redis.call('ZRANGE', K.scheduled, 0, LOOKED_AT - 1, 'WITHSCORES')
for i = 1, #first, 2 do
  if redis.call('EXISTS', K.job(first[i])) == 1 then
    return whole(tonumber(first[i + 1]) - now)
  end
end
return false
