-- needs: now, keys, together, wake
-- `into_scheduled(queue, id, due)`: the one way to wait for a time. `out_of_scheduled(queue, id)`: the way out again.
-- Complete only after `flush()` and `count_scheduled()`.
-- A scheduled job is news too: whoever waits must learn by when to wake.

local counts = {}
local news_of_due = {}

local function into_scheduled(queue, id, due)
  together('ZADD', K.scheduled, whole(due), id)
  counts[queue] = (counts[queue] or 0) + 1
  news_of_due[queue] = true
end

local function out_of_scheduled(queue, id)
  together('ZREM', K.scheduled, id)
  counts[queue] = (counts[queue] or 0) - 1
end

local function count_scheduled()
  for queue, by in pairs(counts) do
    if by ~= 0 then
      redis.call('HINCRBY', K.scheduled_counts, queue, by)
    end
  end
  counts = {}
  for queue in pairs(news_of_due) do
    wake(queue)
  end
  news_of_due = {}
end
