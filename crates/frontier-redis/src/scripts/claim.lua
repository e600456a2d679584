-- Claims jobs whose hosts may be asked now. ARGV: 1 for a call that is repeated, a name
-- for this call, the number of jobs, the length of a lease, the interval between two
-- requests to a host, 1 if robots.txt is obeyed. Returns the leases, and the time until
-- the next host may be asked (-1 if none waits).
local name, count, robots = ARGV[2], tonumber(ARGV[3]), ARGV[6] == '1'
local interval, now = tonumber(ARGV[5]), clock()
local claims, scores = {}, {}

if ARGV[1] == '1' then
  -- It gets what it got before.
  for _, lease in ipairs(call('ZRANGE', P .. ':leases', 0, -1)) do
    if lease:sub(1, #name + 1) == name .. '.' then
      claims[#claims + 1] = lease
    end
  end
  if #claims > 0 then
    return { claims, 0 }
  end
end

-- Claims the first job of a host, or takes the host out if it has none for now.
local function claim(host, h)
  local queue, is_busy = P .. ':q:' .. host, h.queued == 0
  local entry
  if is_busy then
    entry = call('ZRANGEBYSCORE', P .. ':b:' .. host, '-inf', now, 'LIMIT', 0, 1)[1]
  else
    entry = call('LPOP', queue)
    h.queued = h.queued - 1
  end
  if entry then
    local kind, s, text = 'f', state(entry)
    local secure = robots and text:match('^%a%d+,%d+ http(s?)')
    local file = secure and (secure == 's' and '1' or '0')
    if file and (h['until' .. file] or 0) <= now then
      if not is_busy then
        h.queued = call('LPUSH', queue, entry)
      end
      kind, entry, h.waits = file, h.rules or '', true
    else
      if is_busy then
        call('ZREM', P .. ':b:' .. host, entry)
      end
      if s[7] >= 100 and s[7] < 1000 and (h.vain or 0) >= 10 then
        -- Its server is out of order: the job ends with the answer that it has.
        s[7] = s[7] + 1000
        entry = with_state(s, text)
      end
    end
    local token = name .. '.' .. (#claims + 1)
    claims[#claims + 1] =
      string.format('%s %s %s %.0f %.0f %s', token, host, kind, now, h.next, entry)
    scores[#scores + 1], scores[#scores + 2] = now + ARGV[4], claims[#claims]
    h.open, h.last, h.next = h.open + 1, token, now + math.max(interval, h.delay or 0)
    save(host, h)
  end
  schedule(host, h)
end

while #claims < count do
  local ready =
    call('ZRANGEBYSCORE', P .. ':ready', '-inf', now, 'LIMIT', 0, count - #claims)
  if #ready == 0 then
    break
  end
  for _, host in ipairs(ready) do
    claim(host, host_of(host))
  end
end

if #claims > 0 then
  call('ZADD', P .. ':leases', unpack(scores))
  return { claims, 0 }
end
local first = call('ZRANGE', P .. ':ready', 0, 0, 'WITHSCORES')
return { claims, first[2] and math.max(0, tonumber(first[2]) - now) or -1 }
