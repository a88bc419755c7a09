-- needs: now, keys, together, job
-- Let the leases of claims end later.
-- KEYS: seq
-- ARGV: lease in microseconds, 'id token', one pair a line
-- Returns one letter a claim: h(eld), c(ancellation was asked for), l(ost).

local expires, answers = whole(now + tonumber(ARGV[4])), {}
for id, token in string.gmatch(ARGV[5], '(%S+) (%S+)') do
  local found, answered = redis.call('HMGET', K.job(id), 'at', 'is', 'cancel'), 'l'
  if string.match(found[1] or '', '^flight %S+ %S+ %S+ (%S+)') == token then
    together('ZADD', K.in_flight(kind_of(found[2]).queue), expires, id)
    answered = found[3] and 'c' or 'h'
  end
  answers[#answers + 1] = answered
end
flush()
return table.concat(answers)
