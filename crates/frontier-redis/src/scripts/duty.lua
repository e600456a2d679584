-- Takes or keeps the duty of moving the journal of a partition to a file. ARGV: 1 for a
-- call that is repeated, the name of the worker, and the milliseconds after which another
-- one may take it. Returns 1 if the worker has it.
local holder = call('GET', P .. ':duty')
if holder and holder ~= ARGV[2] then
  return 0
end
call('SET', P .. ':duty', ARGV[2], 'PX', ARGV[3])
return 1
