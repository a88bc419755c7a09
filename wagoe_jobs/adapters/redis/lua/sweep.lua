-- Remove jobs that ended longer ago than such are kept, some of all queues.
-- needs: now, keys, history
-- KEYS[1], ARGV[1..3]  as for every script
-- Returns 1 when there may be more of them, else 0.

for _, queue in ipairs(redis.call('SMEMBERS', K.queues)) do
  sweep(queue)
end
return trim() and 1 or 0
