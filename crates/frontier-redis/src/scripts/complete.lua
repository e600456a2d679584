-- Completes a job. ARGV: 1 for a call that is repeated, the lease, 1 if the host was
-- asked, 1 if it has answered anything but 429 or 503, 1 if the row is broken, 1 if it was a
-- second attempt in vain, the number of new URLs that other calls have put in, the record before
-- and after the number of new URLs, and then jobs to put in. Returns the number of new URLs, or -1 if the
-- lease was lost; then nothing is changed. A call whose reply was lost has changed all
-- before, and gets the number again.
local lease, asked, answered, is_broken = ARGV[2], ARGV[3] == '1', ARGV[4] == '1', ARGV[5] == '1'

-- Returns the number of new URLs in the record of this call, or nil if the last 1,000 of
-- the journal are others. They are read one by one: a record has many megabytes at worst.
local function number_in_record()
  local before, after, last = ARGV[8], ARGV[9], '+'
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
local new = ARGV[7] + put(10)
-- The host has one request fewer under way.
local h = host_of(name)
h.open = h.open - 1
if answered then
  count_answer(h, started)
end
if ARGV[6] == '1' then
  h.vain = (h.vain or 0) + 1
end
-- A request that was not made leaves its moment to another job, unless another has had
-- one since: then the host's last claim has another token.
local is_given_back = not asked and lease:sub(1, #h.last + 1) == h.last .. ' '
if is_given_back then
  h.next = before
end
save(name, h)
if h.limit or is_given_back then
  schedule(name, h)
end
-- The record, with the number of new URLs in it; and the counts of the end.
call('XADD', P .. ':journal', '*', 'r', ARGV[8] .. new .. ARGV[9])
call('HINCRBY', P, 'done', 1)
if is_broken then
  call('HINCRBY', P, 'bad', 1)
end
return new
-- ANCHOR_END: complete
