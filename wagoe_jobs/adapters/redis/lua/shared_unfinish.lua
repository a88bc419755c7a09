-- needs: keys, together, end
-- `unfinish(id, queue, type, status)`: the one way out of history, from each index that `finish` put it in.
-- Complete only after `flush()`; what becomes of the job itself is the caller's.

local function unfinish(id, queue, type, status)
  together('ZREM', K.ended(queue, status), id)
  if keeps(status) then
    together('ZREM', K.ended_type(type), id)
  else
    together('ZREM', K.failed, id)
    together('ZREM', K.failed_type(type), id)
  end
end
