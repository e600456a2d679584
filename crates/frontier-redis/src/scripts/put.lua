-- Puts jobs in. ARGV: 1 for a call that is repeated, and the jobs.
return put(2)
