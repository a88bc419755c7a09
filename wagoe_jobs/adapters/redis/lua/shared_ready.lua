-- needs: keys, together, wake
-- `ready(queue, rank, id, seq)`: the one way into the line. Complete only after `flush()` and `tell()`.
-- `places(n)`: the first of n new places in the line.

local news = {}

local function places(n)
  return redis.call('INCRBY', K.seq, n) - n + 1
end

local function ready(queue, rank, id, seq)
  together('ZADD', K.line(queue, rank), seq, id)
  news[queue] = true
end

local function tell()
  for queue in pairs(news) do
    wake(queue)
  end
  news = {}
end
