-- Completes a job. ARGV: 1 for a call that is repeated, the lease, 1 if the host was
-- asked, 1 if it has answered anything but 429 or 503, 1 if the row is broken,
-- the number of new URLs that other calls have put in, the record before and after the
-- number of new URLs, and then jobs to put in. Returns the number of new URLs, or -1 if the
-- lease was lost; then nothing is changed. A call whose reply was lost has changed all
-- before, and gets the number again.
local lease, asked, answered, is_broken = ARGV[2], ARGV[3] == '1', ARGV[4] == '1', ARGV[5] == '1'

-- Lets a host that was throttled, and has answered a request that began after that, have more
-- requests: after ten answers, a tenth more at a time.
local function grow(h, started)
  if started > h.busy then
    h.spell, h.count, h.paused, h.grow = nil, nil, nil, h.grow + 1
    if h.grow == 10 then
      h.grow, h.limit = 0, h.limit + 1 + math.floor(h.limit / 10)
    end
  end
end

-- Returns the number of new URLs in the record of this call, or nil if the last 1,000 of
-- the journal are others. They are read one by one: a record has many megabytes at worst.
local function number_in_record()
  local before, after, last = ARGV[7], ARGV[8], '+'
  for _ = 1, 1000 do
    local entry = call('XREVRANGE', P .. ':journal', last, '-', 'COUNT', 1)[1]
    if not entry then
      return nil
    end
    local record = entry[2][2]
    local new = record:sub(#before + 1, -#after - 1)
    if record == before .. new .. after then
      return tonumber(new)
    end
    last = '(' .. entry[1]
  end
end

-- ANCHOR: complete
-- The fence: this worker has the job no longer. Or the call is repeated, and has its
-- record already.
if not take(lease) then
  return ARGV[1] == '1' and number_in_record() or -1
end
-- What is new becomes jobs, beside those in other partitions.
local name, _, started, before = parts(lease)
local new = ARGV[6] + put(9)
-- The host has one request fewer under way.
local h = host_of(name)
h.open = h.open - 1
if answered then
  h.answers = (h.answers or 0) + 1
end
-- A request that was not made leaves its moment to another job, unless another has had
-- one since: then the host's last claim has another token.
local is_given_back = not asked and lease:sub(1, #h.last + 1) == h.last .. ' '
if is_given_back then
  h.next = before
end
-- A host that was throttled may have more requests at a time.
if h.limit and answered then
  grow(h, started)
end
save(name, h)
if h.limit or is_given_back then
  schedule(name, h)
end
-- The record, with the number of new URLs in it; and the counts of the end.
call('XADD', P .. ':journal', '*', 'r', ARGV[7] .. new .. ARGV[8])
call('HINCRBY', P, 'done', 1)
if is_broken then
  call('HINCRBY', P, 'bad', 1)
end
return new
-- ANCHOR_END: complete
