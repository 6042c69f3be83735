#!/usr/bin/env bash
# Runs the official clients of this folder against a server with the embedded model.
# Usage: run.sh ATENIA FOLDER; the clients are installed in FOLDER if they are not there.
# It ends with 77 if they cannot be.
set -euo pipefail
missing() { echo "the clients cannot be installed: $1"; exit 77; }
atenia=$1 dir=$2
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$dir"
[ -x "$dir/venv/bin/python" ] || python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q openai==3.54.0 anthropic==2.12.0 ollama==0.6.3 || missing pip
[ -d "$dir/node_modules/openai" ] || npm install --silent --no-fund --no-audit --prefix "$dir" openai@6.49.0 || missing npm
cp "$here"/*.mjs "$dir"
key=key-of-clients
"$atenia" serve --port 0 --api-key "$key" 2>"$dir/log" &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
for _ in $(seq 100); do
	url=$(sed -n 's/^atenia: serving at //p' "$dir/log")
	[ -z "$url" ] || break
	sleep 0.1
done
for client in "$here"/*.py; do
	echo "== $(basename "$client")"
	base=$url
	[[ $client != *openai* ]] || base=$url/v1
	timeout 120 "$dir/venv/bin/python" "$client" "$base" "$key" || { tail -5 "$dir/log"; exit 1; }
done
for client in "$here"/*.mjs; do
	node "$dir/$(basename "$client")" "$url/v1" "$key"
done
kill -TERM $server
wait $server # a drain that fails is a failure
trap - EXIT
