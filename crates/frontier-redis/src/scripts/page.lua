-- Reads records of the journal, the first ones between two ids: at most 50, and none behind
-- the first megabyte, since one has many at worst. ARGV: 1 for a call that is repeated, and
-- the ids. Returns entries of the stream.
local entries, size, from = {}, 0, ARGV[2]
while #entries < 50 and size < 1048576 do
  local entry = call('XRANGE', P .. ':journal', from, ARGV[3], 'COUNT', 1)[1]
  if not entry then
    break
  end
  entries[#entries + 1] = entry
  size, from = size + #entry[2][2], '(' .. entry[1]
end
return entries
