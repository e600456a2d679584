-- Starts a further request to a host, if it may get one now. If not, reserves the next time
-- at which it may: otherwise waiting jobs could overtake the request forever.
-- ARGV: 1 for a call that is repeated, the host, the interval between two requests, and 1 if
-- the time that was taken has come; after a pause since then, another one is taken. Returns
-- the time to wait.
local name, now = ARGV[2], clock()
local h = host_of(name)
if ARGV[4] == '1' and (h.pause or 0) <= now then
  return 0
end
local at = math.max(h.next, h.pause or 0, now)
-- The job that was claimed last can give its own moment back no longer.
h.next, h.last = at + math.max(tonumber(ARGV[3]), h.delay or 0), ''
save(name, h)
schedule(name, h)
return at - now
