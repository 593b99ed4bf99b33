#!/usr/bin/env bash
# A PostgreSQL server of one's own, with default durability, on a free port. After a crash it
# syncs its files with one call instead of one each: that takes seconds less.
#   tools/private_postgres.sh start DIR [SETTING=VALUE...]
#                                         prints the URL; DIR exists, and is empty or was
#                                         stopped: then it is on the same port again
#   tools/private_postgres.sh stop DIR    at once, without a clean shutdown
#   tools/private_postgres.sh standby DIR OF [SETTING=VALUE...]
#                                         as start, but a streaming standby of the server in OF, by the name "standby"
#   tools/private_postgres.sh promote DIR returns when it is a primary
#   tools/private_postgres.sh signal DIR STOP|CONT|KILL
#                                         to all processes of the server at once
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

runs() { [[ -f $dir/data/postmaster.pid && -d /proc/$(head -n 1 "$dir/data/postmaster.pid") ]]; }

stop() {
  cd "$dir"
  if runs; then as_owner "$bin/pg_ctl" -D "$dir/data" -m immediate -w stop >&2; fi
}

standby() {
  local of
  of=$(readlink -f "${settings[0]:?the directory of its primary}")
  settings=("${settings[@]:1}")
  if ((EUID == 0)); then chown postgres "$dir"; fi
  cd "$dir"
  as_owner "$bin/pg_basebackup" -D "$dir/data" -R -c fast --no-sync \
    -d "host=127.0.0.1 port=$(cat "$of/port") user=postgres application_name=standby" >&2
  # Once it leads, it must not wait for a standby that it has not got yet.
  as_owner sed -i '/^synchronous_standby_names/d' "$dir/data/postgresql.auto.conf"
  start
}

promote() {
  cd "$dir"
  as_owner "$bin/pg_ctl" -D "$dir/data" -w -t 60 promote >&2
}

# The one that starts others stands still while they are told.
signal() {
  local postmaster children
  runs || return 0
  postmaster=$(head -n 1 "$dir/data/postmaster.pid")
  kill -STOP "$postmaster"
  read -ra children <"/proc/$postmaster/task/$postmaster/children" || true
  kill -"${settings[0]}" ${children[@]+"${children[@]}"} 2>/dev/null || true
  kill -"${settings[0]}" "$postmaster"
  [[ ${settings[0]} != KILL ]] || while [[ -d /proc/$postmaster ]]; do read -rt 0.01 <> <(:) || true; done
}

case $action in
  start | stop | standby | promote | signal) "$action" ;;
  *) echo "usage: tools/private_postgres.sh start|stop|standby|promote|signal DIR" >&2; exit 2 ;;
esac
