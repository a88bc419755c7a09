-- Forget the schedule of a type.
-- needs: keys
-- KEYS[1], ARGV[1..3]  as for every script
-- ARGV[4]              the job type
-- Returns 1, or 0 without one.

return redis.call('HDEL', K.recurring, ARGV[4])
