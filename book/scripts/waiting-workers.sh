#!/usr/bin/env bash
# Prints what the tasks of a crawl wait for, as `kill -USR1` shows it: three workers,
# and a server that takes its time for the only page asked for.
set -euo pipefail
programs=${CARGO_TARGET_DIR:-target}/debug
cargo build -q -p crawl -p demo-site --bins
folder=$(mktemp -d)
mkfifo "$folder/site"
"$programs/demo-site" --pages 10 --delay 60 >"$folder/site" &
site=$! crawl=
trap 'kill $site $crawl 2>/dev/null || true; rm -r "$folder"' EXIT
url=$(grep -o -m 1 'http://[0-9.:]*/' <"$folder/site")
"$programs/crawl" --no-robots -j 3 "$url" >/dev/null 2>"$folder/tasks" &
crawl=$!
sleep 2.2
kill -USR1 "$crawl"
for _ in {1..50}; do
  [ "$(wc -l <"$folder/tasks")" -lt 4 ] || break
  sleep 0.1
done
grep -E '^([0-9]+ tasks|  task )' "$folder/tasks"
