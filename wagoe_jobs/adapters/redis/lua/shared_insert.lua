-- needs: now, ready, scheduled
-- `insert(first, delay)`: store the jobs that stand in ARGV from `first` on, ready or scheduled; those whose id is
-- there stay as they are. Eight arguments a job: id, type, queue, rank, budget, due or '', tenant with '=' before it
-- or '', payload. With a delay in microseconds, not '', all are due that much later than now.
-- Returns '1' for each that was stored, '0' for each that was there.

local WIDTH = 8

local function insert(first, delay)
  local given = (#ARGV - first + 1) / WIDTH
  local answers, seq = {}, places(given) - 1
  local common = delay ~= '' and now + tonumber(delay)
  for i = first, #ARGV, WIDTH do
    local id, queue, rank, due = ARGV[i], ARGV[i + 2], ARGV[i + 3], common or tonumber(ARGV[i + 5])
    local job, fresh = K.job(id), 0
    if redis.call('EXISTS', job) == 0 then
      local waits = due and due > now
      local is = ARGV[i + 1] .. '\n' .. queue .. '\n' .. rank .. '\n' .. ARGV[i + 6]
      local stands
      if waits then
        stands = 'scheduled - ' .. at .. ' - -'
        into_scheduled(queue, id, due)
      else
        seq = seq + 1
        local place = whole(seq)
        stands = 'ready ' .. place .. ' ' .. at .. ' -'
        ready(queue, rank, id, place)
      end
      if due then
        redis.call('HSET', job, 'is', is, 'at', stands, 'payload', ARGV[i + 7], 'budget', ARGV[i + 4], 'created', at,
          'due', whole(due))
      else
        redis.call('HSET', job, 'is', is, 'at', stands, 'payload', ARGV[i + 7], 'budget', ARGV[i + 4], 'created', at)
      end
      together('ZADD', K.jobs, 0, id)
      together('SADD', K.queues, queue)
      fresh = 1
    end
    answers[#answers + 1] = fresh
  end
  flush()
  count_scheduled()
  tell()
  return table.concat(answers)
end
