-- What all scripts share. KEYS[1] is the key of a partition: a hash of its counters,
-- and the beginning of its other keys. ARGV[1] is 1 if the call may have been made before:
-- its reply was lost. All moments are microseconds of the clock of Redis. A script changes
-- everything or nothing. A command takes Redis a microsecond or two, so each thing is read
-- once and written once.
local P, call = KEYS[1], redis.call
local hosts = {}

local function clock()
  local time = call('TIME')
  return time[1] * 1000000 + time[2]
end

-- A host, as a table; its record is written by `save`. A field that is not there is nil:
--   queued          the number of jobs in its queue
--   next, last      the moment of its next request, and the token of its last lease, empty
--                   if a further request has taken a moment since
--   open            the number of its leases
--   answers, pages  how many it has given; how many are known
--   later           it has had jobs that were put off
--   vain            how many second attempts have failed as the first ones, since the server
--                   is out of order
--   is_full         a job beyond the pages that it may have was put in
--   delay           the delay that its robots.txt asks for
--   until0, until1  the end of its rules for http and for https
--   big             some of these rules are large
--   waits, rules    its robots.txt is being fetched; the state of that job, see `state`
--   gone            it is given up: the status with which it throttled everything
-- and of one that was throttled:
--   limit, grow     how many requests it may have at a time; answers since that has grown
--   pause           the moment before which it is not asked
--   busy, spell     the moments of the last 429 or 503, and of the first without others,
--                   moved by the times in which no worker asked though it might have
--   count, paused   the number of such answers since then, and the sum of its pauses
local function host_of(name)
  local h = hosts[name]
  if not h then
    local record = call('GET', P .. ':h:' .. name)
    h = record and cmsgpack.unpack(record) or { queued = 0, next = 0, open = 0 }
    hosts[name] = h
  end
  return h
end

-- Writes the record of a host. Large rules are kept while it has work, and then fetched again:
-- there may be any number of hosts.
local function save(name, h)
  local is_idle = h.big and h.open == 0 and h.queued == 0
  if is_idle and call('EXISTS', P .. ':b:' .. name) == 0 then
    call('DEL', P .. ':rules0' .. name, P .. ':rules1' .. name)
    h.until0, h.until1, h.big = nil, nil, nil
  end
  call('SET', P .. ':h:' .. name, cmsgpack.pack(h))
end

-- Sets the moment at which a host may be asked next, or takes it out if it may not:
-- nothing waits for it, it has as many requests as it may have, its robots.txt is
-- being fetched, or it is given up.
local function schedule(name, h)
  local at
  if not h.waits and not h.gone and (not h.limit or h.open < h.limit) then
    at = math.max(h.next, h.pause or 0)
    if h.queued == 0 then
      -- Only a host with jobs that were put off has some that are not in its queue.
      local first = h.later and call('ZRANGE', P .. ':b:' .. name, 0, 0, 'WITHSCORES') or {}
      at = first[2] and math.max(at, tonumber(first[2]))
    end
  end
  if at then
    call('ZADD', P .. ':ready', at, name)
  else
    call('ZREM', P .. ':ready', name)
  end
end

-- The parts of a lease: host, kind, start, the moment before it, entry.
local function parts(lease)
  local host, kind, started, before, entry = lease:match('^%S+ (%S+) (%S+) (%S+) (%S+) (.*)$')
  return host, kind, tonumber(started), tonumber(before), entry
end

-- The state of an entry that was claimed before, and the job behind it: how often its
-- lease was broken; then its deferrals because it was throttled: how many, how many in vain,
-- the answers of the host at the last one, the sum of the waits, and 1 if it is asked once more
-- only; then 1 if its server has failed at it, or the status if it waits because of that, or
-- that and 1000 if it gets no further request; and the number of attempts so far.
local function state(entry)
  local broken, times, vain, answers, waited, last, failed, tries, job =
    entry:match('^!(%d+),(%d+),(%d+),(%d+),(%d+),(%d+),(%d+),(%d+)!(.*)$')
  if not broken then
    return { 0, 0, 0, 0, 0, 0, 0, 0 }, entry
  end
  return { tonumber(broken), tonumber(times), tonumber(vain), tonumber(answers),
    tonumber(waited), tonumber(last), tonumber(failed), tonumber(tries) }, job
end

local function with_state(s, job)
  for i = 1, 8 do
    s[i] = string.format('%.0f', s[i])
  end
  return '!' .. table.concat(s, ',') .. '!' .. job
end

-- Counts an answer of a host that is not throttled, to a request that began at `started`. One
-- that was throttled before that may have more requests: after ten answers, a tenth more at a
-- time.
local function count_answer(h, started)
  h.answers = (h.answers or 0) + 1
  if h.limit and started > h.busy then
    h.spell, h.count, h.paused, h.grow = nil, nil, nil, h.grow + 1
    if h.grow == 10 then
      h.grow, h.limit = 0, h.limit + 1 + math.floor(h.limit / 10)
    end
  end
end

-- Takes a lease away. Returns false if it has ended: this is the fence.
local function take(lease)
  return call('ZREM', P .. ':leases', lease) == 1
end

-- Counts jobs that will not be asked, since their host is given up.
local function leave(name, h, count)
  call('HINCRBY', P, 'left', count)
  call('HINCRBY', P .. ':gone', h.gone .. ' ' .. name, count)
end

-- Gives a job back that was not finished: it comes first.
local function give_back(lease, is_broken)
  if not take(lease) then
    return
  end
  local name, kind, _, _, entry = parts(lease)
  local h = host_of(name)
  h.open = h.open - 1
  if kind ~= 'f' then
    h.waits = nil
  else
    if is_broken then
      local s, text = state(entry)
      s[1] = s[1] + 1
      entry = with_state(s, text)
    end
    if h.gone then
      leave(name, h, 1)
    else
      h.queued = call('LPUSH', P .. ':q:' .. name, entry)
    end
  end
  if is_broken then
    call('HINCRBY', P, 'broken', 1)
  end
  save(name, h)
  schedule(name, h)
end

-- Adds to the counts of a new job. Returns a mark for it: empty, or 1 if its host has as
-- many pages as it may, or one more than the number of the first other count that exceeds
-- its limit. Of the jobs beyond the pages of a host only the first has a mark, and the
-- others have nil: there may be any number of them, so they are not put in.
local function trap(h, counts)
  local n, max = 1, counts:match('^(%d+)!')
  if max and (h.pages or 0) >= tonumber(max) then
    local is_first = not h.is_full
    h.is_full = true
    return is_first and '#1' or nil
  end
  for key, cost, limit in counts:gmatch('(%x+):(%d+):(%d+)') do
    n = n + 1
    if call('HINCRBY', P .. ':traps', key, cost) > tonumber(limit) then
      return '#' .. n
    end
  end
  if max then
    h.pages = (h.pages or 0) + 1
  end
  return ''
end

-- Puts the new ones among the jobs in, which begin at ARGV[i]: for each host its name,
-- the number of its jobs, and of each job the hash of its URL, its text and its counts.
-- Returns the number of the new ones that belong to the site.
local function put(i)
  local new, of_site = 0, 0
  while ARGV[i] do
    local name, entries, hashes, fresh = ARGV[i], {}, {}, {}
    local last = i + 3 * ARGV[i + 1]
    for j = i + 2, last, 3 do
      hashes[#hashes + 1] = ARGV[j]
    end
    local seen, h = call('SMISMEMBER', P .. ':seen', unpack(hashes)), nil
    for n, hash in ipairs(hashes) do
      if seen[n] == 0 and not fresh[hash] then
        h = h or host_of(name)
        local text, counts = ARGV[i + 3 * n], ARGV[i + 3 * n + 1]
        local mark = counts == '' and '' or trap(h, counts)
        if mark then
          fresh[hash], fresh[#fresh + 1] = true, hash
          entries[#entries + 1] = mark .. text
          of_site = of_site + (text:find('^#?%d*e') and 0 or 1)
        end
      end
    end
    i = last + 2
    if #entries > 0 then
      new = new + #entries
      call('SADD', P .. ':seen', unpack(fresh))
      if h.gone then
        leave(name, h, #entries)
      else
        local is_idle = h.queued == 0
        h.queued = call('RPUSH', P .. ':q:' .. name, unpack(entries))
        if is_idle then
          schedule(name, h)
        end
      end
      save(name, h)
    end
  end
  if new > 0 then
    call('HINCRBY', P, 'put', new)
  end
  return of_site
end
