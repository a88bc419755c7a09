-- Free an idempotency key before it expires.
-- needs: now, keys, idempotency
-- KEYS[1], ARGV[1..3]  as for every script
-- ARGV[4], ARGV[5]     scope and key
-- Returns 1, or 0 when it was free.

local taken = key_value(ARGV[4], ARGV[5])
local name = K.key(ARGV[4], ARGV[5])
redis.call('DEL', name)
redis.call('ZREM', K.keys, string.sub(name, #P + 1))
return taken and 1 or 0
