-- Creates a crawl unless it exists. ARGV: 1 for a call that is repeated, and then fields and
-- values. Returns all its fields.
local key = P .. ':crawl'
if call('EXISTS', key) == 0 then
  call('HSET', key, unpack(ARGV, 2))
end
return call('HGETALL', key)
