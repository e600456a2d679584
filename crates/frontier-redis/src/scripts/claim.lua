-- Claims jobs whose hosts may be asked now. ARGV: a name for this call, the number of
-- jobs, the length of a lease, the interval between two requests to a host, 1 if
-- robots.txt is obeyed. Returns the jobs with their tokens, and the time until the next
-- host may be asked (-1 if none waits).
local name, count, lease = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local interval, robots = tonumber(ARGV[4]), ARGV[5] == '1'
local claims = {}

-- A call that is sent once more gets what it got before.
for i = 1, count do
  local token = name .. '.' .. i
  local job = call('HGET', JOBS, token)
  if not job then
    break
  end
  claims[i] = { token, job }
end
if #claims > 0 then
  return { claims, 0 }
end

for _, token in ipairs(call('ZRANGEBYSCORE', LEASES, '-inf', int(now), 'LIMIT', 0, 100)) do
  give_back(token, true)
end

while #claims < count do
  local host = call('ZRANGEBYSCORE', READY, '-inf', int(now), 'LIMIT', 0, 1)[1]
  if not host then
    break
  end
  local entry, is_busy = call('LINDEX', QUEUE .. host, 0), false
  if not entry then
    entry = call('ZRANGEBYSCORE', BUSY .. host, '-inf', int(now), 'LIMIT', 0, 1)[1]
    is_busy = true
  end
  if not entry then
    schedule(host)
  else
    local h = call('HMGET', HOST .. host, 'next', 'delay', 'rules')
    local kind, _, text = 'f', state(entry)
    local secure, file = text:match('^%a%d+,%d+ http(s?)'), nil
    if robots and secure then
      file = (secure == 's' and '1' or '0') .. host
    end
    if file and call('EXISTS', RULES .. file) == 0 then
      kind, entry = file:sub(1, 1), h[3] or ''
      call('HSET', HOST .. host, 'waits', 1)
    elseif is_busy then
      call('ZREM', BUSY .. host, entry)
    else
      call('LPOP', QUEUE .. host)
    end
    local token = name .. '.' .. (#claims + 1)
    local job = table.concat({ host, kind, int(now), h[1] or '0', entry }, ' ')
    local step = math.max(interval, tonumber(h[2] or 0))
    call('HSET', JOBS, token, job)
    call('ZADD', LEASES, int(now + lease), token)
    call('HINCRBY', HOST .. host, 'open', 1)
    call('HSET', HOST .. host, 'next', int(now + step), 'last', token)
    schedule(host)
    claims[#claims + 1] = { token, job }
  end
end

local first = call('ZRANGE', READY, 0, 0, 'WITHSCORES')
return { claims, first[2] and math.max(0, tonumber(first[2]) - now) or -1 }
