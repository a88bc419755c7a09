-- Keep the schedule of a type; the same text again resets no instant.
-- needs: now, keys, schedule
-- KEYS[1], ARGV[1..3]  as for every script
-- ARGV[4]              the job type
-- ARGV[5]              what the schedule is, as a JSON list that begins with its text
-- Returns {when this text was first seen, the last tick or ''}, both as text.

local type, what = ARGV[4], ARGV[5]
local first, last, kept = schedule(type)

if not first or cjson.decode(kept)[1] ~= cjson.decode(what)[1] then
  first, last = whole(now), ''
end
keep_schedule(type, first, last, what)
return {first, last}
