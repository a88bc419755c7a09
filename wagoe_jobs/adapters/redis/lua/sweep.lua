-- Remove jobs that ended longer ago than such are kept, some of all queues.
-- needs: now, keys, history
-- KEYS[1], ARGV[1..3]  as for every script
-- Returns 1 when there may be more of them, else 0.

local STEP = 300  -- nobody waits for this, and everybody for the server

for _, queue in ipairs(redis.call('SMEMBERS', K.queues)) do
  sweep(queue)
end
return trim(STEP) and 1 or 0
