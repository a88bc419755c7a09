-- Take or renew the ticker's lease.
-- needs: now, keys, ticker
-- KEYS[1], ARGV[1..3]  as for every script
-- ARGV[4]              the holder
-- ARGV[5]              for how many microseconds
-- Returns 1, or 0 while another holds it.

local holder, lease = ARGV[4], tonumber(ARGV[5])
local present = ticker()

if present and present ~= holder then
  return 0
end
local expires = whole(math.max(1, math.ceil(lease / 1000)))
redis.call('SET', K.ticker, whole(now + lease) .. '\n' .. holder, 'PX', expires)
return 1
