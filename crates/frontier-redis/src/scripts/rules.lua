-- Sets the rules of an origin, from its robots.txt or since it does not answer. ARGV:
-- 1 for a call that is repeated; the lease of the job for that file, or an empty text; 1
-- for https and 0 for http; the host; the delay between two requests; the text of the
-- rules; seconds until they are fetched again.
local lease, secure, name, now = ARGV[2], ARGV[3], ARGV[4], clock()
local h = host_of(name)
if lease ~= '' then
  if not take(lease) then
    return -1
  end
  h.open, h.waits, h.rules = h.open - 1, nil, nil
end
call('SET', P .. ':rules' .. secure .. name, ARGV[6], 'EX', ARGV[7])
-- A second before they are gone, so that all that ask for them find them.
h['until' .. secure] = now + (ARGV[7] - 1) * 1000000
local delay = math.max(tonumber(ARGV[5]), h.delay or 0)
if delay > 0 then
  h.next, h.delay = h.next + delay - (h.delay or 0), delay
end
h.big = h.big or #ARGV[6] > 16384 or nil
save(name, h)
schedule(name, h)
return 1
