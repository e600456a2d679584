-- Starts a further request to a host, if it may be asked now. If not, takes the next time
-- at which it may: otherwise the jobs that wait for the host would come first each time.
-- ARGV: 1 for a call that is repeated, the host, the interval between two requests, and 1 if
-- the time is taken, so that only a pause is to be waited for. Returns the time to wait.
local name, now, is_taken = ARGV[2], clock(), ARGV[4] == '1'
local h = host_of(name)
local at = math.max(is_taken and 0 or h.next, h.pause or 0, now)
if not is_taken then
  h.next = at + math.max(tonumber(ARGV[3]), h.delay or 0)
  save(name, h)
  schedule(name, h)
end
return at - now
