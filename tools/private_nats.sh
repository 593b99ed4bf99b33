#!/usr/bin/env bash
# A NATS server of one's own, with JetStream, on a free port of 127.0.0.1.
#   tools/private_nats.sh start DIR   prints the URL; DIR exists, and is empty or was stopped:
#                                     then it is on the same port again
#   tools/private_nats.sh stop DIR    at once, without a clean shutdown
# The messages lie in DIR/store, the log is DIR/log.
set -euo pipefail

action=${1:?start or stop} dir=$(readlink -f "${2:?the directory of the server}")
tools=$(dirname "$(readlink -f "$0")")
PATH=$PATH:/usr/sbin

start() {
  : >"$dir/log"
  local line port
  port=$(cat "$dir/port" 2>/dev/null || "$tools/free_port.py")
  nohup nats-server --jetstream --store_dir "$dir/store" --addr 127.0.0.1 --port "$port" --pid "$dir/pid" \
    </dev/null >>"$dir/log" 2>&1 &
  local server=$!
  while IFS= read -r line; do
    if [[ $line == *"Server is ready"* ]]; then
      echo "$port" >"$dir/port"
      echo "nats://127.0.0.1:$port"
      return
    fi
  done < <(tail -n +1 -f --pid="$server" "$dir/log" 2>/dev/null)
  echo "private_nats: the server did not start; the end of its log:" >&2
  tail -n 20 "$dir/log" >&2
  kill -KILL "$server" 2>/dev/null || true
  return 1
}

stop() {
  [[ -f $dir/pid ]] || return 0
  kill -KILL "$(<"$dir/pid")" 2>/dev/null || true
  rm -f "$dir/pid"
}

case $action in
  start | stop) "$action" ;;
  *) echo "usage: tools/private_nats.sh start|stop DIR" >&2; exit 2 ;;
esac
