-- needs: now, keys, together
-- Let the leases of claims end later.
-- KEYS: seq
-- ARGV: lease in microseconds, 'id token', one pair a line
-- Returns one letter a claim: h(eld), c(ancellation was asked for), l(ost).

local expires, answers = whole(now + tonumber(ARGV[4])), {}
for id, token in string.gmatch(ARGV[5], '(%S+) (%S+)') do
  local job, answered = redis.call('HMGET', K.job(id), 'place', 'token', 'cancel', 'queue'), 'l'
  if job[1] == 'flight' and job[2] == token then
    together('ZADD', K.in_flight(job[4]), expires, id)
    answered = job[3] and 'c' or 'h'
  end
  answers[#answers + 1] = answered
end
flush()
return table.concat(answers)
