#!/bin/sh
# Draws the lines of code of the stages: what a fetch is, what a crawl is, and what runs
# them. Comments, blank lines and tests are not counted.
set -eu
cd "$(dirname "$0")/../../crates"

# Counts the lines of files: up to `#[cfg(test)]` before a module at the left edge. Fails if a
# file is not there.
lines() {
  awk 'FNR == 1 { ended = 0 } /^#\[cfg\(test\)\]/ { ended = 1 }
       !ended && !/^[ \t]*(\/\/|$)/ { n += 1 } END { print n + 0 }' "$@"
}

# Names the files of a stage.
of() {
  stage=$1
  shift
  printf "$stage/src/%s.rs " "$@"
}

# Each by itself, so that the script ends where one fails.
net=$(find stage2-coroutines/src/net -name '*.rs' ! -path '*read_by_hand*')
runtime=$(find stage2-coroutines/src/runtime -name '*.rs')
fetch0=$(lines $(of stage0-threads fetch connector connection limits lookups))
crawl0=$(lines stage0-threads/src/crawl.rs)
fetch1=$(lines $(of stage1-callbacks fetch connector connection))
crawl1=$(lines stage1-callbacks/src/crawl.rs)
loop1=$(lines stage1-callbacks/src/event_loop.rs)
fetch2=$(lines $(of stage2-coroutines fetch) $net)
crawl2=$(lines stage2-coroutines/src/crawl.rs)
loop2=$(lines $runtime)
fetch3=$(lines $(of stage3-queue fetch connector pool))
crawl3=$(lines stage3-queue/src/crawler.rs)
queue3=$(lines stage3-queue/src/queue.rs)

{
  echo "0 threads|$fetch0|$crawl0|0|the kernel runs it"
  echo "1 callbacks|$fetch1|$crawl1|$loop1|"
  echo "2 coroutines|$fetch2|$crawl2|$loop2|"
  echo "3 queue|$fetch3|$crawl3|$queue3|and the runtime of stage 2"
} | awk -F'|' '
BEGIN {
  print "<svg viewBox=\"0 0 440 220\" role=\"img\" aria-labelledby=\"staircase-title staircase-desc\" font-size=\"14\">"
  print "<title id=\"staircase-title\">Lines of code of the four stages</title>"
}
{
  name[NR] = $1; fetch[NR] = $2; crawl[NR] = $3; runs[NR] = $4; more[NR] = $5
  sum = $2 + $3 + $4
  if (sum > most) most = sum
  desc = desc $1 ": fetch and connections " $2 ", crawl " $3 ", what runs them " $4 ". "
}
END {
  print "<desc id=\"staircase-desc\">" desc "</desc>"
  for (i = 1; i <= NR; i++) {
    y = 58 + (i - 1) * 40; x = 100; unit = 280 / most
    printf "<text class=\"text\" x=\"90\" y=\"%d\" text-anchor=\"end\">%s</text>\n", y + 19, name[i]
    split(fetch[i] " " crawl[i] " " runs[i], part, " ")
    split("accent-fill second-fill third-fill", class, " ")
    for (k = 1; k <= 3; k++) {
      if (part[k] == 0) continue
      printf "<rect class=\"%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"26\"/>\n", class[k], x, y, part[k] * unit - 2
      x += part[k] * unit
    }
    printf "<text class=\"text\" x=\"%.1f\" y=\"%d\">%d</text>\n", x + 6, y + 19, fetch[i] + crawl[i] + runs[i]
    if (more[i] != "") printf "<text class=\"dim\" x=\"%.1f\" y=\"%d\">%s</text>\n", x + 42, y + 19, more[i]
  }
  print "<rect class=\"accent-fill\" x=\"100\" y=\"8\" width=\"12\" height=\"12\"/><text class=\"text\" x=\"118\" y=\"19\">a fetch and its connection</text>"
  print "<rect class=\"second-fill\" x=\"100\" y=\"30\" width=\"12\" height=\"12\"/><text class=\"text\" x=\"118\" y=\"41\">the crawl</text>"
  print "<rect class=\"third-fill\" x=\"220\" y=\"30\" width=\"12\" height=\"12\"/><text class=\"text\" x=\"238\" y=\"41\">what runs them</text>"
  print "</svg>"
}'
