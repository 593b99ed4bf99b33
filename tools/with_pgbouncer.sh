#!/usr/bin/env bash
# Runs a test program with a PgBouncer in front of the server of SKALD_TEST_PG, in transaction mode. The program finds it
# by SKALD_TEST_PGBOUNCER (host:port).
#   tools/with_pgbouncer.sh PROGRAM [ARGUMENT...]
# PgBouncer refuses to run as root: root runs it as the user postgres.
set -euo pipefail

tools=$(dirname "$(readlink -f "$0")")
server=${SKALD_TEST_PG:?the URL of a PostgreSQL server for tests}
[[ $server =~ @([0-9.]+):([0-9]+)/ ]]
dir=$(mktemp -d "${TMPDIR:-/tmp}/skald-pgbouncer.XXXXXX")
port=$("$tools/free_port.py")
cat >"$dir/pgbouncer.ini" <<INI
[databases]
* = host=${BASH_REMATCH[1]} port=${BASH_REMATCH[2]}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $port
unix_socket_dir =
pool_mode = transaction
auth_type = trust
auth_file = $dir/users
default_pool_size = 40
max_client_conn = 1000
server_login_retry = 0
query_wait_timeout = 2
ignore_startup_parameters = options
INI
echo '"postgres" ""' >"$dir/users"
as_owner=()
if ((EUID == 0)); then
  chown -R postgres "$dir"
  as_owner=(setpriv --reuid postgres --regid postgres --clear-groups)
fi
bouncer=
trap '[[ -z $bouncer ]] || { kill -KILL "$bouncer"; wait "$bouncer"; } 2>/dev/null || true; rm -rf "$dir"' EXIT
${as_owner[@]+"${as_owner[@]}"} /usr/sbin/pgbouncer "$dir/pgbouncer.ini" &>"$dir/log" &
bouncer=$!
until grep -q 'process up' "$dir/log"; do
  [[ -d /proc/$bouncer ]] || { cat "$dir/log" >&2; exit 1; }
done
SKALD_TEST_PGBOUNCER=127.0.0.1:$port "$@"
