-- needs: now, keys
-- A schedule as it is kept, three lines: first seen, last tick or '', and what it is as JSON, perhaps of more lines.
-- `schedule(type)`: the three, nil without one. `keep_schedule(type, first, last, what)`: write them.

local function schedule(type)
  local kept = redis.call('HGET', K.recurring, type)
  if kept then
    return string.match(kept, '^(%-?%d+)\n(%-?%d*)\n(.*)$')
  end
end

local function keep_schedule(type, first, last, what)
  redis.call('HSET', K.recurring, type, first .. '\n' .. last .. '\n' .. what)
end
