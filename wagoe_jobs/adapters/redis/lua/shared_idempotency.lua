-- needs: now, keys
-- `key_value(scope, key)`: what the taker of a key left, nil when it is free.
-- `take_key(scope, key, ttl, value)`: take it for ttl microseconds; the caller has seen that it is free. Each time a
-- few expired keys are forgotten, so that their index does not grow where nobody purges.

local FORGOTTEN = 10

local function key_value(scope, key)
  local stored = redis.call('GET', K.key(scope, key))
  if not stored then return nil end
  local line_end = string.find(stored, '\n', 1, true)
  if tonumber(string.sub(stored, 1, line_end - 1)) <= now then return nil end
  return string.sub(stored, line_end + 1)
end

local function forget_some()
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', K.keys, '-inf', whole(now), 'LIMIT', 0, FORGOTTEN)) do
    redis.call('DEL', P .. name)
    redis.call('ZREM', K.keys, name)
  end
end

local function take_key(scope, key, ttl, value)
  local name, expires = K.key(scope, key), now + tonumber(ttl)
  forget_some()
  local stored = whole(expires) .. '\n' .. value
  redis.call('SET', name, stored, 'PX', whole(math.max(1, math.ceil(tonumber(ttl) / 1000))))
  redis.call('ZADD', K.keys, whole(expires), string.sub(name, #P + 1))
end
