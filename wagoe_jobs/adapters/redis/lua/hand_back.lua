-- needs: back
-- Return claims that never started to their old places in the line.
-- KEYS: seq
-- ARGV: 'id token', one pair a line
-- Returns how many were held.

local held = 0
for id, token in string.gmatch(ARGV[4], '(%S+) (%S+)') do
  local job = look(id)
  if job and job.place == 'flight' and job.token == token then
    back(id, job, {})
    held = held + 1
  end
end
settle_back()
return held
