-- needs: now, keys
-- Claims as they are answered: `claimed(id, payload, rank, seq, abandoned)` notes one, `claimed_ids()` names them,
-- `answer(dropped)` tells all: the time; ids, ranks, places and abandonments, each in one string; the payloads; and
-- the ids that had no data. Payloads are a list of strings of twenty lines, or, when one of them has lines of its own,
-- a list of the list of them.

local ids, payloads, ranks, seqs, abandonments, apart = {}, {}, {}, {}, {}, false
local n = 0

local function claimed(id, payload, rank, seq, abandoned)
  n = n + 1
  ids[n], payloads[n], ranks[n], seqs[n], abandonments[n] = id, payload, rank, seq, abandoned or 0
  apart = apart or string.find(payload, '\n', 1, true)
end

local function claimed_ids()
  return table.concat(ids, ' ')
end

-- Lua looks at every byte of a string that it makes, and table.concat makes several on its way to a long one.
local function lines_of_payloads()
  local lines, p = {}, payloads
  for i = 1, n - 19, 20 do
    lines[#lines + 1] = p[i] .. '\n' .. p[i + 1] .. '\n' .. p[i + 2] .. '\n' .. p[i + 3] .. '\n' .. p[i + 4] .. '\n'
      .. p[i + 5] .. '\n' .. p[i + 6] .. '\n' .. p[i + 7] .. '\n' .. p[i + 8] .. '\n' .. p[i + 9] .. '\n'
      .. p[i + 10] .. '\n' .. p[i + 11] .. '\n' .. p[i + 12] .. '\n' .. p[i + 13] .. '\n' .. p[i + 14] .. '\n'
      .. p[i + 15] .. '\n' .. p[i + 16] .. '\n' .. p[i + 17] .. '\n' .. p[i + 18] .. '\n' .. p[i + 19]
  end
  if n % 20 > 0 then
    lines[#lines + 1] = table.concat(payloads, '\n', n - n % 20 + 1, n)
  end
  return lines
end

local function answer(dropped)
  return {
    now, claimed_ids(), table.concat(ranks, ' '), table.concat(seqs, ' '), table.concat(abandonments, ' '),
    apart and {payloads} or lines_of_payloads(), dropped,
  }
end
