-- Forget idempotency keys that have expired, those first that did so first.
-- needs: now, keys
-- KEYS[1], ARGV[1..3]  as for every script
-- ARGV[4]              at most how many
-- Returns how many.

local expired = redis.call('ZRANGEBYSCORE', K.keys, '-inf', whole(now), 'LIMIT', 0, ARGV[4])
for _, name in ipairs(expired) do
  redis.call('UNLINK', P .. name)
  redis.call('ZREM', K.keys, name)
end
return #expired
