-- needs: settle, claim
-- Settle claims, then claim the next jobs.
-- KEYS: seq
-- ARGV: queue, worker, token of the new claims, lease in microseconds, limit, then what `settle` takes
-- Returns the answers of `settle` in one string, and the claims as `answer` makes them.

local settled = settle(9)
return {settled, claim(ARGV[4], ARGV[5], ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8]))}
