-- Sets the rules of an origin, from its robots.txt or since it does not answer. ARGV:
-- the token of the job for that file, or an empty one; 1 for https and 0 for http; the
-- host; the delay between two requests; the text of the rules; seconds until they are
-- fetched again.
local token, host = ARGV[1], ARGV[3]
if token ~= '' then
  if not take(token) then
    return -1
  end
  call('HINCRBY', HOST .. host, 'open', -1)
  call('HDEL', HOST .. host, 'waits', 'rules')
end
call('SET', RULES .. ARGV[2] .. host, ARGV[5], 'EX', ARGV[6])
local delay = math.max(tonumber(ARGV[4]), tonumber(call('HGET', HOST .. host, 'delay') or 0))
if delay > 0 then
  local h = call('HMGET', HOST .. host, 'next', 'delay')
  local more = delay - tonumber(h[2] or 0)
  call('HSET', HOST .. host, 'delay', int(delay), 'next', int(tonumber(h[1] or 0) + more))
end
schedule(host)
return 1
