-- What all scripts share. KEYS[1] is the key of a partition: a hash of its counters,
-- and the beginning of its other keys. All moments are microseconds of the clock of
-- Redis. A script changes everything or nothing, and may be sent twice.
local P, call = KEYS[1], redis.call
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local QUEUE, BUSY, HOST, RULES = P .. ':q:', P .. ':b:', P .. ':h:', P .. ':rules'
local READY, LEASES, JOBS, SEEN = P .. ':ready', P .. ':leases', P .. ':jobs', P .. ':seen'

local function int(number)
  return string.format('%.0f', number)
end

-- Sets the moment at which a host may be asked next, or takes it out if it may not:
-- nothing waits for it, it has as many requests as it may have, its robots.txt is
-- being fetched, or it is given up.
local function schedule(host)
  local h = call('HMGET', HOST .. host, 'next', 'pause', 'open', 'limit', 'waits', 'gone')
  local limit, at = tonumber(h[4] or 0), nil
  if not h[5] and not h[6] and (limit == 0 or tonumber(h[3] or 0) < limit) then
    at = math.max(tonumber(h[1] or 0), tonumber(h[2] or 0))
    if call('EXISTS', QUEUE .. host) == 0 then
      local first = call('ZRANGE', BUSY .. host, 0, 0, 'WITHSCORES')
      at = first[2] and math.max(at, tonumber(first[2]))
    end
  end
  if at then
    call('ZADD', READY, int(at), host)
  else
    call('ZREM', READY, host)
  end
end

-- The parts of a leased job: host, kind, start, the moment before it, entry.
local function parts(job)
  local host, kind, started, before, entry = job:match('^(%S+) (%S+) (%S+) (%S+) (.*)$')
  return host, kind, tonumber(started), tonumber(before), entry
end

-- The state of an entry that was claimed before, and the job behind it: how often its
-- lease was broken; then its deferrals: how many, how many in vain, the answers of the
-- host at the last one, the sum of the waits, and 1 if it is asked once more only.
local function state(entry)
  local broken, times, vain, answers, waited, last, job =
    entry:match('^!(%d+),(%d+),(%d+),(%d+),(%d+),(%d+)!(.*)$')
  if not broken then
    return { 0, 0, 0, 0, 0, 0 }, entry
  end
  return { tonumber(broken), tonumber(times), tonumber(vain), tonumber(answers),
    tonumber(waited), tonumber(last) }, job
end

local function with_state(s, job)
  for i = 1, 6 do
    s[i] = int(s[i])
  end
  return '!' .. table.concat(s, ',') .. '!' .. job
end

-- Takes the lease of a job away. Returns nothing if there is none: this is the fence.
local function take(token)
  local job = call('HGET', JOBS, token)
  if job then
    call('HDEL', JOBS, token)
    call('ZREM', LEASES, token)
  end
  return job
end

-- Counts a job that will not be asked, since its host is given up.
local function leave(host, count)
  call('HINCRBY', P, 'left', count)
  call('HINCRBY', P .. ':gone', host, count)
end

-- Gives a job back that was not finished: it comes first.
local function give_back(token, is_broken)
  local job = take(token)
  if not job then
    return
  end
  local host, kind, _, _, entry = parts(job)
  call('HINCRBY', HOST .. host, 'open', -1)
  if kind == 'f' then
    if is_broken then
      local s, text = state(entry)
      s[1] = s[1] + 1
      entry = with_state(s, text)
    end
    if call('HEXISTS', HOST .. host, 'gone') == 1 then
      leave(host, 1)
    else
      call('LPUSH', QUEUE .. host, entry)
    end
  else
    call('HDEL', HOST .. host, 'waits')
  end
  if is_broken then
    call('HINCRBY', P, 'broken', 1)
  end
  schedule(host)
end

-- Adds to the counts of a new job. Returns a mark for it: empty, or 1 if its host has as
-- many pages as it may, or one more than the number of the first other count that exceeds
-- its limit. Of the jobs beyond the pages of a host only the first has a mark, and the
-- others have nil: there may be any number of them, so they are not put in.
local function trap(counts)
  local traps, n = P .. ':traps', 1
  local pages, max = counts:match('(%x+)!(%d+)')
  if pages and tonumber(call('HGET', traps, pages) or 0) >= tonumber(max) then
    return call('HINCRBY', traps, pages .. '+', 1) == 1 and '#1' or nil
  end
  for key, cost, limit in counts:gmatch('(%x+):(%d+):(%d+)') do
    n = n + 1
    if call('HINCRBY', traps, key, cost) > tonumber(limit) then
      return '#' .. n
    end
  end
  if pages then
    call('HINCRBY', traps, pages, 1)
  end
  return ''
end

-- Puts the new ones among the jobs in, which begin at ARGV[i]: for each host its name,
-- the number of its jobs, and of each job the hash of its URL, its text and its counts.
-- Returns the number of the new ones that belong to the site.
local function put(i)
  local new, of_site = 0, 0
  while ARGV[i] do
    local host, entries, hashes, fresh = ARGV[i], {}, {}, {}
    local last = i + 3 * tonumber(ARGV[i + 1])
    for j = i + 2, last, 3 do
      hashes[#hashes + 1] = ARGV[j]
    end
    local seen = call('SMISMEMBER', SEEN, unpack(hashes))
    for n, hash in ipairs(hashes) do
      if seen[n] == 0 and not fresh[hash] then
        local j = i + 3 * n - 1
        local counts = ARGV[j + 2]
        local mark = counts == '' and '' or trap(counts)
        if mark then
          fresh[hash], fresh[#fresh + 1] = true, hash
          entries[#entries + 1] = mark .. ARGV[j + 1]
          of_site = of_site + (ARGV[j + 1]:find('^#?%d*e') and 0 or 1)
        end
      end
    end
    i = last + 2
    if #entries > 0 then
      new = new + #entries
      call('SADD', SEEN, unpack(fresh))
      if call('HEXISTS', HOST .. host, 'gone') == 1 then
        leave(host, #entries)
      else
        call('RPUSH', QUEUE .. host, unpack(entries))
        schedule(host)
      end
    end
  end
  if new > 0 then
    call('HINCRBY', P, 'put', new)
  end
  return of_site
end
