-- needs: insert
-- Store jobs, ready or scheduled.
-- KEYS: seq
-- ARGV: delay or '', then eight arguments a job
-- Returns one digit a job: '1' it was stored, '0' its id was there.

return insert(5, ARGV[4])
