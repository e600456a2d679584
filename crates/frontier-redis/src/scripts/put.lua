-- Puts jobs in. ARGV: the jobs.
return put(1)
