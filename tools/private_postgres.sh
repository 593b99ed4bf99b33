#!/usr/bin/env bash
# A PostgreSQL server of one's own, with default durability, on a free port. After a crash it
# syncs its files with one call instead of one each: that takes seconds less.
#   tools/private_postgres.sh start DIR [SETTING=VALUE...]
#                                         prints the URL; DIR exists, and is empty or was
#                                         stopped: then it is on the same port again
#   tools/private_postgres.sh stop DIR    at once, without a clean shutdown
# PostgreSQL refuses to run as root: root runs it as the user postgres, who must
# be able to reach DIR. The log is DIR/log.
set -euo pipefail

action=${1:?start or stop} dir=$(readlink -f "${2:?the directory of the server}")
settings=("${@:3}")
tools=$(dirname "$(readlink -f "$0")")
bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)

as_owner() {
  if ((EUID == 0)); then
    runuser -u postgres -- "$@"
  else
    "$@"
  fi
}

start() {
  if ((EUID == 0)); then chown postgres "$dir"; fi
  chmod 755 "$dir"
  cd "$dir"
  local port attempt
  if [[ ! -d $dir/data ]]; then
    as_owner "$bin/initdb" -D "$dir/data" -U postgres -A trust -E UTF8 --no-locale --no-sync >&2
  fi
  # Somebody else may take the port between asking for it and binding it.
  for attempt in 1 2 3; do
    port=$(cat "$dir/port" 2>/dev/null || "$tools/free_port.py")
    if as_owner "$bin/pg_ctl" -D "$dir/data" -l "$dir/log" -w -t 60 start -o "-p $port -c max_connections=200 \
        -c recovery_init_sync_method=syncfs -c listen_addresses=127.0.0.1 -c unix_socket_directories='$dir' \
        ${settings[*]/#/-c }" \
      >&2; then
      echo "$port" >"$dir/port"
      echo "postgresql://postgres@127.0.0.1:$port/postgres"
      return
    fi
    echo "private_postgres: attempt $attempt failed; the end of the log:" >&2
    tail -n 20 "$dir/log" >&2 || true
  done
  return 1
}

stop() {
  cd "$dir"
  if [[ -f $dir/data/postmaster.pid ]]; then as_owner "$bin/pg_ctl" -D "$dir/data" -m immediate -w stop >&2; fi
}

case $action in
  start | stop) "$action" ;;
  *) echo "usage: tools/private_postgres.sh start|stop DIR" >&2; exit 2 ;;
esac
