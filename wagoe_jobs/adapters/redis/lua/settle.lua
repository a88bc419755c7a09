-- needs: settle
-- Settle claims.
-- KEYS: seq
-- ARGV: what `settle` takes
-- Returns one letter a claim: a(pplied), y: this token settled it before, l(ost).

return settle(4)
