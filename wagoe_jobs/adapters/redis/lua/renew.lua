-- Let the leases of claims end later.
-- needs: now, keys, room, together, job
-- KEYS[1], ARGV[1..3]  as for every script
-- ARGV[4]              lease in microseconds
-- ARGV[5]              'id token', one pair a line
-- Returns one letter a claim: h(eld), c(ancellation was asked for), l(ost).

local expires, answers = whole(now + tonumber(ARGV[4])), {}
for id, token in string.gmatch(ARGV[5], '(%S+) (%S+)') do
  local found, answered = redis.call('HMGET', K.job(id), 'at', 'is', 'cancel'), 'l'
  local queue = kind_of(found[2] or '').queue
  if claim_at(found[1]) == token and queue then
    together('ZADD', K.in_flight(queue), expires, id)
    answered = found[3] and 'c' or 'h'
  end
  answers[#answers + 1] = answered
end
flush()
return table.concat(answers)
