-- Gives jobs back that were not finished. ARGV: 1 for a call that is repeated, and their
-- leases. If the rules of a host are gone before their time, they are fetched again: a job
-- without its rules comes back here each time.
for i = 2, #ARGV do
  local name = parts(ARGV[i])
  local h = host_of(name)
  for _, file in ipairs({ '0', '1' }) do
    if h['until' .. file] and call('EXISTS', P .. ':rules' .. file .. name) == 0 then
      h['until' .. file] = nil
    end
  end
  give_back(ARGV[i], false)
end
return 1
