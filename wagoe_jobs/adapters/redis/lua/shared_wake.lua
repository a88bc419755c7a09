-- needs: keys
-- `wake(queue)`: one token for the queue, unless one is waiting there that nobody has taken.

local function wake(queue)
  local list = K.wake(queue)
  if redis.call('EXISTS', list) == 0 then
    redis.call('RPUSH', list, '1')
  end
end
