-- Starts a further request to a host, if it may be asked now. ARGV: 1 for a call that is
-- repeated, the host, and the interval between two requests. Returns the time to wait
-- otherwise.
local name, now = ARGV[2], clock()
local h = host_of(name)
local at = math.max(h.next, h.pause or 0)
if at > now then
  return at - now
end
h.next = now + math.max(tonumber(ARGV[3]), h.delay or 0)
save(name, h)
schedule(name, h)
return 0
