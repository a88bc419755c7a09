-- Changes of the same kind to one key, collected and sent in few calls: `together(command, key, a, b)`, then `flush()`.
-- Between the two the key is as it was. Each command takes any number of members, or of pairs, after the key.
-- Who changes one key for every job asks once for `changes(command, key)` and does `put(changes, a, b)` for each.

local CHUNK = 1000
local collected = {ZADD = {}, ZREM = {}, SADD = {}}

local function changes(command, key)
  local of_key = collected[command][key]
  if not of_key then
    of_key = {n = 0}
    collected[command][key] = of_key
  end
  return of_key
end

local function put(of_key, a, b)
  local n = of_key.n + 1
  of_key[n] = a
  if b then
    n = n + 1
    of_key[n] = b
  end
  of_key.n = n
end

local function together(command, key, a, b)
  put(changes(command, key), a, b)
end

local function flush()
  for command, keys in pairs(collected) do
    for key, of_key in pairs(keys) do
      for first = 1, of_key.n, CHUNK do
        redis.call(command, key, unpack(of_key, first, math.min(first + CHUNK - 1, of_key.n)))
      end
      of_key.n = 0  -- and not forgotten: somebody may hold it
    end
  end
end
