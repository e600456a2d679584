-- Renews leases, notes that the worker is alive, and gives back the jobs whose leases have
-- ended. ARGV: 1 for a call that is repeated, the length of a lease, the name of the
-- worker, its description, the leases. Returns those that are lost.
local lost, now = {}, clock()
for i = 5, #ARGV do
  if call('ZSCORE', P .. ':leases', ARGV[i]) then
    call('ZADD', P .. ':leases', now + ARGV[2], ARGV[i])
  else
    lost[#lost + 1] = ARGV[i]
  end
end
local count = #ARGV - 4 - #lost
call('HSET', P .. ':workers', ARGV[3], string.format('%.0f %d %s', now, count, ARGV[4]))
for _, lease in ipairs(call('ZRANGEBYSCORE', P .. ':leases', '-inf', now, 'LIMIT', 0, 100)) do
  give_back(lease, true)
end
return lost
