#!/usr/bin/env bash
# Runs the official Python clients against "atenia serve" with the embedded model.
#   serve/testdata/clients/run.sh [ATENIA]
# PYTHON names an interpreter that has the packages already; otherwise they are installed
# into a folder of their own.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
atenia=${1:-}
if [ -z "$atenia" ]; then
	atenia=$work/atenia
	(cd "$here/../../.." && go build -o "$atenia" ./cmd/atenia)
fi
python=${PYTHON:-}
if [ -z "$python" ]; then
	command -v pip3 >/dev/null || { apt-get update -q && apt-get install -y -q python3-pip; }
	pip3 install -q --target "$work/python" anthropic ollama openai
	export PYTHONPATH=$work/python
	python=python3
fi
key=key-of-the-clients
port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
url=http://127.0.0.1:$port
"$atenia" serve --port "$port" --api-key "$key" >"$work/log" 2>&1 &
server=$!
for _ in $(seq 100); do
	"$python" -c "import urllib.request; urllib.request.urlopen('$url/health')" 2>/dev/null && break
	kill -0 "$server" || { cat "$work/log"; exit 1; }
	sleep 0.1
done
run() { timeout 120 "$python" "$here/$1" "$2" "$key" || { tail -5 "$work/log"; exit 1; }; }
run anthropic_client.py "$url"
run ollama_client.py "$url"
