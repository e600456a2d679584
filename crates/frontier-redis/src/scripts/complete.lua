-- Completes a job. ARGV: its token, 1 if its host was asked, 1 if it has answered, 1 if
-- the row is broken, the number of new URLs that other calls have put in, the record
-- before and after the number of new URLs, and then jobs to put in. Returns the number
-- of new URLs, or -1 if the lease was lost; then nothing is changed.
local token, asked, answered, is_broken = ARGV[1], ARGV[2] == '1', ARGV[3] == '1', ARGV[4] == '1'
-- ANCHOR: complete
local job = take(token)
if not job then
  return -1
end
local host, _, started, before = parts(job)
local new = tonumber(ARGV[5]) + put(8)
local h = call('HMGET', HOST .. host, 'last', 'limit', 'busy', 'grow')
call('HINCRBY', HOST .. host, 'open', -1)
if not asked and h[1] == token then
  -- The moment was not used: another job may have it.
  call('HSET', HOST .. host, 'next', int(before))
end
if answered then
  call('HINCRBY', HOST .. host, 'answers', 1)
  local limit = tonumber(h[2] or 0)
  if limit > 0 and started > tonumber(h[3] or 0) then
    -- No longer busy: after ten answers, a tenth more requests at a time.
    call('HDEL', HOST .. host, 'spell', 'count', 'paused')
    local grow = tonumber(h[4] or 0) + 1
    if grow == 10 then
      grow, limit = 0, limit + 1 + math.floor(limit / 10)
    end
    call('HSET', HOST .. host, 'grow', grow, 'limit', limit)
  end
end
call('XADD', P .. ':journal', '*', 'r', ARGV[6] .. int(new) .. ARGV[7])
call('HINCRBY', P, 'done', 1)
if is_broken then
  call('HINCRBY', P, 'bad', 1)
end
schedule(host)
return new
-- ANCHOR_END: complete
