-- Takes records out of the journal that are in a file now. ARGV: 1 for a call that is
-- repeated, the name of the worker, and the id of the first record to keep. Returns the
-- number of records, or -1 if another worker has the duty; then nothing is changed.
if call('GET', P .. ':duty') ~= ARGV[2] then
  return -1
end
local count = call('XTRIM', P .. ':journal', 'MINID', ARGV[3])
call('HINCRBY', P, 'moved', count)
return count
