-- Settle claims.
-- needs: settle
-- KEYS[1], ARGV[1..3]  as for every script
-- ARGV[4..]            what `settle` takes
-- Returns one letter a claim: a(pplied), y: this token settled it before, l(ost).

return settle(4)
