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
"$dir/venv/bin/pip" install -q openai==3.54.0 anthropic==2.12.0 ollama==0.6.3 pydantic || missing pip
[ -d "$dir/node_modules/zod" ] || npm install --silent --no-fund --no-audit --prefix "$dir" openai@6.49.0 zod@4 || missing npm
cp "$here"/*.mjs "$dir"
key=key-of-clients

# start starts a server with more flags, and sets server and url.
start() {
	: >"$dir/log"
	"$atenia" serve --port 0 --api-key "$key" "$@" 2>"$dir/log" &
	server=$!
	trap 'kill -9 $server 2>/dev/null || true' EXIT
	url=
	for _ in $(seq 600); do
		url=$(sed -n 's/^atenia: serving at //p' "$dir/log")
		[ -z "$url" ] || return 0
		sleep 0.1
	done
	exit 1
}

# python runs the clients in Python; what they are told besides goes last.
python() {
	for client in "$here"/*.py; do
		echo "== $(basename "$client") $*"
		base=$url
		[[ $client != *openai* ]] || base=$url/v1
		timeout 300 "$dir/venv/bin/python" "$client" "$base" "$key" "$@" || { tail -5 "$dir/log"; exit 1; }
	done
}

# hold keeps one request under way: its stream is not read, for which the server waits half
# a minute once all buffers are full.
hold() {
	body='{"prompt":"Once","n":64,"max_tokens":400,"ignore_eos":true,"logprobs":5,"stream":true}'
	exec 3<>"/dev/tcp/127.0.0.1/${url##*:}"
	printf 'POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s' "$key" ${#body} "$body" >&3
	for _ in $(seq 100); do
		[ "$(curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $key" "$url/v1/models")" != 429 ] || return 0
		sleep 0.1
	done
	echo "the server is not busy"
	exit 1
}

start --store "$dir/kept"
python
for client in "$here"/*.mjs; do
	node "$dir/$(basename "$client")" "$url/v1" "$key"
done
kill -TERM $server
wait $server # a drain that fails is a failure

start --max-requests 1
hold
python busy
kill -TERM $server # drains as long as the request is under way
for _ in $(seq 100); do
	! grep -q 'finishing what runs' "$dir/log" || break
	sleep 0.1
done
python draining
exec 3>&- 3<&-
wait $server
trap - EXIT
