-- Changes of the same kind to one key, collected and sent in few calls: `together(command, key, a, b)`, then `flush()`.
-- Between the two the key is as it was. Each command takes any number of members, or of pairs, after the key.

local CHUNK = 1000
local collected = {ZADD = {}, ZREM = {}, SADD = {}}

local function together(command, key, a, b)
  local of_key = collected[command][key]
  if not of_key then
    of_key = {n = 0}
    collected[command][key] = of_key
  end
  local n = of_key.n
  of_key[n + 1], of_key[n + 2] = a, b
  of_key.n = n + (b and 2 or 1)
end

local function flush()
  for command, keys in pairs(collected) do
    for key, of_key in pairs(keys) do
      for first = 1, of_key.n, CHUNK do
        redis.call(command, key, unpack(of_key, first, math.min(first + CHUNK - 1, of_key.n)))
      end
    end
    collected[command] = {}
  end
end
