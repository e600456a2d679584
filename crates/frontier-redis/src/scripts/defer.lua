-- Puts a job off: its URL waits behind the others of its host. If it was throttled, its host
-- gets fewer requests. ARGV: 1 for a call that is repeated, the lease, the wait that the server
-- asks for (-1 if it says nothing), the longest wait, the status, 1 if it was throttled, 0 if
-- its server has failed and 2 if its name server gave no answer, the number of attempts.
local lease = ARGV[2]
if not take(lease) then
  return -1
end
local retry, max_wait, now = tonumber(ARGV[3]), tonumber(ARGV[4]), clock()
local name, kind, started, before, entry = parts(lease)
local h = host_of(name)
local answers = h.answers or 0

-- The host: all requests that were open at the first such answer count as one.
local function throttle()
  h.spell, h.count, h.paused, h.grow = h.spell or now, h.count or 0, h.paused or 0, 0
  h.limit = h.limit or h.open
  if (h.busy or 0) <= started then
    if h.count > 0 then
      -- Do not charge the host for time in which we had no request for it.
      h.spell = h.spell + math.max(0, started - math.max(h.pause or 0, before))
    end
    h.limit = math.max(1, math.floor(math.min(h.limit, h.open) / 2))
    h.count, h.busy = h.count + 1, now
  end
  local backoff = (h.count >= 2 and h.queued > 0) and 1000000 * 2 ^ math.min(h.count - 2, 16) or 0
  local budget = math.max(0, max_wait * 3 / 4 - h.paused)
  local pause = math.min(retry >= 0 and retry or backoff, budget)
  if budget == 0 then
    pause = max_wait / 120
  end
  local paused = h.pause or 0
  h.paused = h.paused + math.max(0, now + pause - math.max(paused, now))
  h.pause = math.max(paused, math.floor(now + pause))
end

-- The URL: it waits as long as it is asked to, at least a second, which doubles while it is
-- throttled. Its server may fail at it once.
local s, text = state(entry)
s[8] = s[8] + ARGV[7]
local wait = math.min(max_wait, math.max(retry, 1000000))
if ARGV[6] == '1' then
  throttle()
  s[2] = s[2] + 1
  s[3] = s[4] == answers and s[3] + 1 or 1
  s[4], s[7] = answers, math.min(s[7], 1)
  wait = math.min(max_wait, math.max(retry, 1000000 * 2 ^ math.min(s[3] - 1, 16)))
  s[5] = s[5] + wait
  if s[3] + 1 >= 4 or s[2] + 1 >= 10 or s[5] >= max_wait then
    s[6] = 1
  end
elseif ARGV[6] == '0' then
  count_answer(h, started)
  s[7] = tonumber(ARGV[5])
else
  s[7], wait = 1, math.min(max_wait, 2000000)
end
local due = math.min(now + wait, math.max(now, (h.spell or now) + max_wait))
if kind ~= 'f' then
  h.pause, h.rules, h.waits = math.max(h.pause or 0, due), with_state(s, ''), nil
elseif h.gone then
  leave(name, h, 1)
else
  call('ZADD', P .. ':b:' .. name, due, with_state(s, text))
  h.later = true
end
h.open = h.open - 1
-- It has answered nothing else for twice the longest wait.
if not h.gone and h.spell and now >= h.spell + 2 * max_wait then
  h.gone = ARGV[5]
  leave(name, h, h.queued + call('ZCARD', P .. ':b:' .. name))
  call('DEL', P .. ':q:' .. name, P .. ':b:' .. name)
  h.queued = 0
end
save(name, h)
schedule(name, h)
return 1
