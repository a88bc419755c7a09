-- Settle claims, then claim the next jobs.
-- needs: settle, claim
-- KEYS[1], ARGV[1..3]  as for every script
-- ARGV[4], ARGV[5]     queue and worker
-- ARGV[6]              token of the new claims
-- ARGV[7]              their lease in microseconds
-- ARGV[8]              at most how many
-- ARGV[9..]            what `settle` takes
-- Returns the answers of `settle` in one string, and the claims as `answer` makes them.

local settled = settle(9)
return {settled, claim(ARGV[4], ARGV[5], ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8]))}
