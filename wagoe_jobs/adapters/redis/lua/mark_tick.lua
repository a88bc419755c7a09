-- Record that an instant of a schedule fired.
-- needs: now, keys, schedule
-- KEYS[1], ARGV[1..3]  as for every script
-- ARGV[4]              the job type
-- ARGV[5]              the instant
-- Returns 1, or 0 when it is not after the last one, or nothing is scheduled.

local type, tick = ARGV[4], ARGV[5]
local first, last, what = schedule(type)

if not first or (last ~= '' and tonumber(tick) <= tonumber(last)) then
  return 0
end
keep_schedule(type, first, tick, what)
return 1
