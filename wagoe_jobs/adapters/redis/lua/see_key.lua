-- Whether an idempotency key is taken; changes nothing.
-- needs: now, keys, idempotency
-- KEYS[1], ARGV[1..3]  as for every script
-- ARGV[4], ARGV[5]     scope and key
-- Returns 1 or 0.

return key_value(ARGV[4], ARGV[5]) and 1 or 0
