-- Changes of the same kind to one key, collected and sent in few calls: `together(command, key, a, b)`, then `flush()`.
-- Between the two the key is as it was. Each command takes any number of members, or of pairs, after the key.

local CHUNK = 1000
local collected = {}

local function together(command, key, a, b)
  local name = command .. key
  local entry = collected[name]
  if not entry then
    entry = {command = command, key = key, n = 0}
    collected[name] = entry
  end
  entry[entry.n + 1], entry[entry.n + 2] = a, b
  entry.n = entry.n + (b and 2 or 1)
end

local function flush()
  for _, entry in pairs(collected) do
    for first = 1, entry.n, CHUNK do
      redis.call(entry.command, entry.key, unpack(entry, first, math.min(first + CHUNK - 1, entry.n)))
    end
  end
  collected = {}
end
