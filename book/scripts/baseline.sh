#!/usr/bin/env bash
# Checks a folder with known broken links, then with one more.
set -euo pipefail
cargo build -q -p crawl --bin crawl
crawl=$(realpath "${CARGO_TARGET_DIR:-target}/debug/crawl")
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cp -r book/broken-site "$folder/public"
cd "$folder"
run() {
  echo "$ crawl $*"
  local code=0
  "$crawl" "$@" || code=$?
  echo "(exit code $code)"
  echo
}
run -q --baseline known.json --update-baseline ./public
run --baseline known.json ./public
echo '<p><a href="gone.html">one more</a>' >>public/guide.html
echo "$ echo '<p><a href=\"gone.html\">one more</a>' >>public/guide.html"
run --baseline known.json ./public
