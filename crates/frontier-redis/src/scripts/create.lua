-- Creates a crawl unless it exists. ARGV: fields and values. Returns all its fields.
local key = P .. ':crawl'
if call('EXISTS', key) == 0 then
  call('HSET', key, unpack(ARGV))
end
return call('HGETALL', key)
