#!/usr/bin/env bash
# Draws the same small crawl by the four stages, on one axis of time: a bar for each
# fetch, from the traces of the programs. The site is on loopback, and each page has a
# delay of its own.
set -euo pipefail
programs=${CARGO_TARGET_DIR:-target}/debug
stages=(stage0-threads stage1-callbacks stage2-coroutines stage3-queue)
cargo build -q -p demo-site --bins "${stages[@]/#/-p}"
folder=$(mktemp -d)
mkfifo "$folder/site"
"$programs/demo-site" --pages 20 --links 8 --no-special --delay 100ms --delay-max 300ms >"$folder/site" &
site=$!
trap 'kill $site 2>/dev/null || true; rm -r "$folder"' EXIT
url=$(grep -o -m 1 'http://[0-9.:]*/' <"$folder/site")
for stage in "${stages[@]}"; do
  tasks=20
  [ "$stage" != stage0-threads ] || tasks=3
  "$programs/$stage" -j $tasks --format jsonl --trace "$folder/$stage.json" "$url" >/dev/null
  # Stage, B or E, microseconds, URL.
  sed -nE 's/^,?\{"name":"fetch","ph":"([BE])",.*"ts":([0-9.]+),"args":.*"url":"https?:..[^/]*([^"]*)".*/'"$stage"' \1 \2 \3/p' \
    "$folder/$stage.json"
done | grep -v /robots.txt | awk '
function ten_ms(us) { return int(us / 10000 + 0.5) * 10 }
BEGIN { AXIS = 1800 }
$2 == "B" { if (!($1 in begun)) { begun[$1] = $3; stages[++n] = $1 }
            bar[$1, ++count[$1]] = $4; from[$1, $4] = ten_ms($3 - begun[$1]) }
$2 == "E" { to[$1, $4] = ten_ms($3 - begun[$1]); if (to[$1, $4] > AXIS) to[$1, $4] = AXIS }
END {
  split("0 threads: 3 threads,1 callbacks: one thread,2 coroutines: one thread,3 queue: one thread", label, ",")
  split("accent second third accent", colour, " ")
  left = 10; scale = 680 / AXIS; step = 6; y = 0
  body = ""
  for (s = 1; s <= n; s++) {
    stage = stages[s]; y += 22; end = 0
    body = body sprintf("<text class=\"text\" x=\"%d\" y=\"%d\" font-weight=\"bold\">%s</text>\n", left, y - 6, label[s])
    for (i = 1; i <= count[stage]; i++) {
      page = bar[stage, i]; x = left + from[stage, page] * scale
      if (to[stage, page] > end) end = to[stage, page]
      body = body sprintf("<rect class=\"%s-fill\" x=\"%.0f\" y=\"%d\" width=\"%.0f\" height=\"4\" rx=\"2\"/>\n", colour[s], x, y, (to[stage, page] - from[stage, page]) * scale)
      y += step
    }
    desc = desc sprintf("%s, %d fetches, %d ms. ", label[s], count[stage], end)
    y += 4
  }
  printf "<svg viewBox=\"0 0 700 %d\" role=\"img\" aria-labelledby=\"side-by-side-title side-by-side-desc\" font-size=\"14\">\n", y + 26
  print "<title id=\"side-by-side-title\">The same crawl by four stages, on one axis of time</title>"
  print "<desc id=\"side-by-side-desc\">" desc "</desc>"
  printf "<defs><clipPath id=\"side-by-side-clip\"><rect x=\"0\" y=\"0\" width=\"700\" height=\"%d\"/></clipPath></defs>\n", y + 26
  for (ms = 0; ms < AXIS; ms += 200) {
    printf "<path class=\"ink\" d=\"M%.0f 22V%d\" opacity=\"0.25\"/>", left + ms * scale, y
    # Every second line has its label: there has to be room for them on a phone.
    if (ms % 400 == 0)
      printf "<text class=\"dim\" x=\"%.0f\" y=\"%d\" text-anchor=\"middle\" font-size=\"12\">%d ms</text>", left + ms * scale + (ms ? 0 : 20), y + 16, ms
    print ""
  }
  print "<g clip-path=\"url(#side-by-side-clip)\">"
  printf "%s", body
  print "</g>\n</svg>"
}'
