-- needs: now, keys
-- `ticker()`: who holds the ticker's lease now, nil when nobody does.

local function ticker()
  local kept = redis.call('GET', K.ticker)
  if kept then
    local ends, holder = string.match(kept, '^(%-?%d+)\n(.*)$')
    return tonumber(ends) > now and holder or nil
  end
end
