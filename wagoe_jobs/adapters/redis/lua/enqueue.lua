-- Store jobs, ready or scheduled.
-- needs: insert
-- KEYS[1], ARGV[1..3]  as for every script
-- ARGV[4]              delay in microseconds or ''
-- ARGV[5..]            eight arguments a job, as `insert` takes them
-- Returns one digit a job: '1' it was stored, '0' its id was there.

return insert(5, ARGV[4])
