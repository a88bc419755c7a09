-- needs: now, keys
-- Claims as they are answered: `claimed(id, payload, rank, seq, abandoned)` notes one, `claimed_ids()` names them,
-- `answer(dropped)` tells all: the time; ids, ranks, places and abandonments, each in one string; the payloads; and
-- the ids that had no data. Payloads are one string of lines, or a list when one of them has lines of its own.

local ids, payloads, ranks, seqs, abandonments, apart = {}, {}, {}, {}, {}, false

local function claimed(id, payload, rank, seq, abandoned)
  local n = #ids + 1
  ids[n], payloads[n], ranks[n], seqs[n], abandonments[n] = id, payload, rank, seq, abandoned or 0
  apart = apart or string.find(payload, '\n', 1, true)
end

local function claimed_ids()
  return table.concat(ids, ' ')
end

local function answer(dropped)
  return {
    now, claimed_ids(), table.concat(ranks, ' '), table.concat(seqs, ' '), table.concat(abandonments, ' '),
    apart and payloads or table.concat(payloads, '\n'), dropped,
  }
end
