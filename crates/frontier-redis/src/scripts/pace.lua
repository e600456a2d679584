-- Starts a further request to a host, if it may be asked now. ARGV: the host, and the
-- interval between two requests. Returns the time to wait otherwise.
local key = HOST .. ARGV[1]
local h = call('HMGET', key, 'next', 'pause', 'delay')
local at = math.max(tonumber(h[1] or 0), tonumber(h[2] or 0))
if at > now then
  return at - now
end
call('HSET', key, 'next', int(now + math.max(tonumber(ARGV[2]), tonumber(h[3] or 0))))
schedule(ARGV[1])
return 0
