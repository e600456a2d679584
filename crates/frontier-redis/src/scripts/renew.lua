-- Renews leases, and notes that the worker is alive. ARGV: the length of a lease, the
-- name of the worker, its description, the tokens. Returns the tokens of lost leases.
local lost = {}
for i = 4, #ARGV do
  if call('ZSCORE', LEASES, ARGV[i]) then
    call('ZADD', LEASES, int(now + tonumber(ARGV[1])), ARGV[i])
  else
    lost[#lost + 1] = ARGV[i]
  end
end
call('HSET', P .. ':workers', ARGV[2], int(now) .. ' ' .. (#ARGV - 3 - #lost) .. ' ' .. ARGV[3])
return lost
