#!/usr/bin/env bash
# Crawls two documentation packages of Debian's behind nginx. `.ci/real-peers` gets
# both.
set -euo pipefail
site=$PWD/target/real-site/doc port=8081
[ -d "$site" ] || { echo "no $site: run .ci/real-peers" >&2; exit 1; }
(: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && { echo "port $port is taken" >&2; exit 1; }
cargo build -q --release -p crawl --bin crawl
folder=$(mktemp -d)
cat >"$folder/nginx.conf" <<NGINX
daemon off; master_process off; pid $folder/pid; error_log $folder/error.log;
events { worker_connections 1024; }
http {
  types { text/html html; text/plain txt; text/css css; image/png png; application/pdf pdf; }
  access_log off; client_body_temp_path $folder; proxy_temp_path $folder;
  fastcgi_temp_path $folder; uwsgi_temp_path $folder; scgi_temp_path $folder;
  server { listen 127.0.0.1:$port; root $site; autoindex on; }
}
NGINX
PATH=$PATH:/usr/sbin nginx -c "$folder/nginx.conf" 2>/dev/null &
nginx=$!
trap 'kill "$nginx"; rm -r "$folder"' EXIT
for _ in {1..50}; do
  (: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
  sleep 0.1
done
# Exit code 1: something is broken, as it should be.
"${CARGO_TARGET_DIR:-target}/release/crawl" -j 20 --check images,fragments \
  "http://127.0.0.1:$port/" || [ $? = 1 ]
