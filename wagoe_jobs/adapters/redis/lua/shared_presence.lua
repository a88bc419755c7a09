-- needs: now, keys
-- `listed(name, gone)`: whether the worker was heard of in the last `gone` microseconds.
-- `forget_gone(gone)`: forget those that were not, at most 500.

local FORGOTTEN = 500

local function listed(name, gone)
  local heard = redis.call('ZSCORE', K.workers, name)
  return heard and tonumber(heard) > now - tonumber(gone)
end

local function forget_gone(gone)
  local before = whole(now - tonumber(gone))
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', K.workers, '-inf', before, 'LIMIT', 0, FORGOTTEN)) do
    redis.call('UNLINK', K.worker(name))
    redis.call('ZREM', K.workers, name)
  end
end
