-- Which of these queues hold work still to do, at one moment; changes nothing.
-- needs: keys
-- KEYS[1], ARGV[1..3]  as for every script
-- ARGV[4..]            names of queues, at most 500
-- Returns the names of those that do, in the order given.

local working = {}
for i = 4, #ARGV do
  local queue = ARGV[i]
  local jobs = redis.call('ZCARD', K.in_flight(queue))
  jobs = jobs + (tonumber(redis.call('HGET', K.scheduled_counts, queue) or 0))
  for rank = 0, 3 do
    jobs = jobs + redis.call('ZCARD', K.line(queue, rank))
  end
  if jobs > 0 then
    working[#working + 1] = queue
  end
end
return working
