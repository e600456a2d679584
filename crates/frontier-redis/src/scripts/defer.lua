-- Defers a job whose server is busy: its URL waits behind the others of its host, and
-- its host gets fewer requests. ARGV: its token, the wait that the server asks for (-1
-- if it says nothing), the longest wait, the status.
local job = take(ARGV[1])
if not job then
  return -1
end
local retry, max_wait = tonumber(ARGV[2]), tonumber(ARGV[3])
local host, kind, started, _, entry = parts(job)
local key = HOST .. host
local h = call('HMGET', key, 'answers', 'spell', 'busy', 'count', 'paused', 'pause', 'limit', 'open',
  'gone')
local answers, spell, busy = tonumber(h[1] or 0), tonumber(h[2] or now), tonumber(h[3] or 0)
local count, paused, pause_end = tonumber(h[4] or 0), tonumber(h[5] or 0), tonumber(h[6] or 0)
local open = tonumber(h[8] or 1)
local limit = tonumber(h[7] or open)

-- The host: all requests that were open at the first busy answer count as one.
if busy <= started then
  limit, count, busy = math.max(1, math.floor(math.min(limit, open) / 2)), count + 1, now
end
local has_others = call('EXISTS', QUEUE .. host) == 1
local backoff = (count >= 2 and has_others) and 1000000 * 2 ^ math.min(count - 2, 16) or 0
local budget = math.max(0, max_wait * 3 / 4 - paused)
local pause = budget == 0 and max_wait / 120 or math.min(retry >= 0 and retry or backoff, budget)
paused = paused + math.max(0, now + pause - math.max(pause_end, now))
pause_end = math.max(pause_end, now + pause)

-- The URL: it waits as long as it is asked to, at least a second, which doubles.
local s, text = state(entry)
s[2] = s[2] + 1
s[3] = s[4] == answers and s[3] + 1 or 1
s[4] = answers
local wait = math.min(max_wait, math.max(retry, 1000000 * 2 ^ math.min(s[3] - 1, 16)))
s[5] = s[5] + wait
if s[3] + 1 >= 4 or s[2] + 1 >= 10 or s[5] >= max_wait then
  s[6] = 1
end
local due = math.min(now + wait, math.max(now, spell + max_wait))
if kind ~= 'f' then
  pause_end = math.max(pause_end, due)
  call('HSET', key, 'rules', with_state(s, ''))
  call('HDEL', key, 'waits')
elseif h[9] then
  leave(host, 1)
else
  call('ZADD', BUSY .. host, int(due), with_state(s, text))
end
call('HINCRBY', key, 'open', -1)
call('HSET', key, 'spell', int(spell), 'busy', int(busy), 'count', count, 'paused', int(paused),
  'pause', int(pause_end), 'limit', limit, 'grow', 0, 'status', ARGV[4])
-- It has answered nothing else for twice the longest wait.
if not h[9] and now >= spell + 2 * max_wait then
  call('HSET', key, 'gone', ARGV[4])
  leave(host, call('LLEN', QUEUE .. host) + call('ZCARD', BUSY .. host))
  call('DEL', QUEUE .. host, BUSY .. host)
end
schedule(host)
return 1
