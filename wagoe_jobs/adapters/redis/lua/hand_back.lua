-- Return claims that never started to their old places in the line.
-- needs: back
-- KEYS[1], ARGV[1..3]  as for every script
-- ARGV[4]              'id token', one pair a line
-- Returns how many were held.

local returned = 0
for id, token in string.gmatch(ARGV[4], '(%S+) (%S+)') do
  local job = held(id, token)
  if job then
    back(id, job)
    returned = returned + 1
  end
end
settle_back()
return returned
