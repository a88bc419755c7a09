-- `now`: the store's clock in whole microseconds, `at`: the same as text. `whole`: a number as text; tostring would
-- round it.

local function whole(number)
  return string.format('%.0f', number)
end

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2]) + tonumber(ARGV[1])
local at = whole(now)
