#!/usr/bin/env bash
# The booking system as it is deployed, on one machine: PostgreSQL with a database for each
# service, NATS with JetStream, and a process for each service.
#   tools/cluster.sh up [NAME...]     starts what does not run, and waits until it is ready
#   tools/cluster.sh kill NAME        kill -9 (PostgreSQL: stop -m immediate); `up NAME` starts it again
#   tools/cluster.sh stop NAME        a service, by SIGTERM; `up NAME` starts it again
#   tools/cluster.sh status           who runs, where, and whether it is ready
#   tools/cluster.sh down [--wipe]    stops all; the data stay unless they are wiped
# NAME is postgres, nats, booking, course, notify or user-api. --dir DIR: where pids, logs,
# ports and data lie, build/cluster unless said. Settings go by the environment, as ever
# (SKALD_AUTH_SECRET, SKALD_BOOKING_TIMEOUT, …). SKALD_CLUSTER_PROGRAM: what `up` starts as services, such as that of
# another version.
. "$(dirname "$(readlink -f "$0")")/lib.sh"

names=(postgres nats booking course notify user-api)
services=(booking course notify user-api)
dir=$root/build/cluster

is_service() { [[ " ${services[*]} " == *" $1 "* ]]; }

# The pid of one that runs, and is still who it was: pids are used again.
pid_of() {
  local file=$dir/$1/pid pid
  [[ $1 == postgres ]] && file=$dir/$1/data/postmaster.pid
  [[ -s $file ]] && pid=$(head -n 1 "$file") && words_of "$pid" | grep -qF "$dir/$1" && echo "$pid"
}

# The command line of a process; nothing where it has ended, reaped or not.
words_of() { { tr '\0' ' ' <"/proc/$1/cmdline"; } 2>/dev/null; }

url_of() { # NAME
  case $1 in
    postgres | nats) cat "$dir/$1/url" ;;
    *) echo "http://127.0.0.1:$(<"$dir/$1/port")" ;;
  esac
}

# By PostgreSQL's socket file, which costs less than the network, where a URL can name it.
database_of() { # SERVICE
  local url sockets=$dir/postgres
  url=$(url_of postgres)
  if [[ $sockets =~ ^[A-Za-z0-9/._-]{1,80}$ ]]; then
    echo "postgresql://postgres@/$1?host=$sockets&port=$(<"$sockets/port")"
  else
    echo "${url%/*}/$1"
  fi
}

ready() {
  case $1 in
    postgres) psql -qtAc 'SELECT 1' "$(url_of postgres)" >/dev/null 2>&1 ;;
    nats) [[ -n $(pid_of nats) ]] ;;
    *) curl -fsS -m 5 "$(url_of "$1")/readyz" >/dev/null 2>&1 ;;
  esac
}

start_server() { # postgres or nats
  mkdir -p "$dir/$1"
  "$root/tools/private_$1.sh" start "$dir/$1" 2>>"$dir/$1/start.log" >"$dir/$1/url.new" || {
    tail -n 20 "$dir/$1/start.log" >&2
    return 1
  }
  mv "$dir/$1/url.new" "$dir/$1/url"
}

make_databases() {
  local url service
  url=$(url_of postgres)
  for service in booking course notify; do
    [[ $(psql -qtAc "SELECT 1 FROM pg_database WHERE datname = '$service'" "$url") == 1 ]] ||
      psql -qc "CREATE DATABASE $service" "$url"
  done
}

start_service() {
  local name=$1 pid database=
  local arguments=(serve --services "$name" --data "$dir/$name/data" --bus "$(url_of nats)")
  mkdir -p "$dir/$name"
  [[ -s $dir/$name/port ]] || "$root/tools/free_port.py" >"$dir/$name/port"
  arguments+=(--listen "127.0.0.1:$(<"$dir/$name/port")")
  if [[ $name == user-api ]]; then
    arguments+=(--http-threads 256)  # they only wait for answers
  else
    database=$(database_of "$name")  # as a variable: it may have a password, and a command line is public
  fi
  SKALD_DB=$database setsid nohup "${SKALD_CLUSTER_PROGRAM:-$(program release skald)}" "${arguments[@]}" </dev/null >>"$dir/$name/log" 2>&1 &
  pid=$!
  echo "$pid" >"$dir/$name/pid"
  # Until then it is this shell, and pid_of does not know it.
  while words_of "$pid" | grep -qF cluster.sh; do sleep 0.01; done
}

# What a service says of itself, with whom it is connected, and where its threads are: whoever waits for it in vain
# must find out why.
describe() {
  local pid
  say "$1 says: $(curl -sS -m 5 "$(url_of "$1")/readyz" 2>&1)"
  pid=$(pid_of "$1") || return 0
  ss -tnpH 2>/dev/null | grep -F "pid=$pid," >&2 || true
  if command -v gdb >/dev/null; then gdb -p "$pid" -batch -ex 'thread apply all backtrace 12' 2>/dev/null >&2 || true; fi
}

# Waits for one that was started; says why when it ended instead.
await() {
  local patience=300 name
  until ready "$1"; do
    if [[ -z $(pid_of "$1") ]] || ((--patience == 0)); then
      say "$1 did not become ready; the end of $dir/$1/log:"
      tail -n 5 "$dir/$1/log" >&2
      if is_service "$1"; then for name in "${services[@]}"; do describe "$name"; done; fi
      return 1
    fi
    sleep 0.1
  done
}

up() {
  local wanted=("$@") started=() name
  ((${#wanted[@]})) || wanted=("${names[@]}")
  for name in "${wanted[@]}"; do
    [[ -z $(pid_of "$name") ]] || continue
    if is_service "$name"; then start_service "$name"; else start_server "$name"; fi
    started+=("$name")
    if [[ $name == postgres ]]; then await postgres && make_databases; fi
  done
  # The gateway is ready when the others are, so it is waited for last.
  for name in "${started[@]}"; do await "$name"; done
  status
}

kill_one() {
  local pid
  pid=$(pid_of "$1") || { say "$1 does not run"; return 1; }
  # PostgreSQL's own word for it: its other processes would outlive the first for a moment.
  if [[ $1 == postgres ]]; then "$root/tools/private_postgres.sh" stop "$dir/postgres" 2>/dev/null; else kill -KILL "$pid"; fi
  while [[ -n $(pid_of "$1") ]]; do sleep 0.05; done
  say "$1 (pid $pid) is gone; up $1 starts it again"
}

stop_one() {
  local pid
  is_service "$1" || { say "$1 is no service"; return 1; }
  pid=$(pid_of "$1") || { say "$1 does not run"; return 1; }
  kill -TERM "$pid"
  while [[ -n $(pid_of "$1") ]]; do sleep 0.02; done
}

status() {
  local name pid state
  for name in "${names[@]}"; do
    pid=$(pid_of "$name") || { printf '%-9s down\n' "$name"; continue; }
    state=up
    ready "$name" || state='not ready'
    printf '%-9s %-9s pid %-7s %s\n' "$name" "$state" "$pid" "$(url_of "$name")"
  done
}

down() {
  local name pid
  for name in user-api booking course notify; do
    pid=$(pid_of "$name") || continue
    kill -TERM "$pid"
    while [[ -n $(pid_of "$name") ]]; do sleep 0.05; done
  done
  for name in nats postgres; do
    if [[ -d $dir/$name ]]; then "$root/tools/private_$name.sh" stop "$dir/$name" 2>/dev/null; fi
  done
  if [[ ${1-} == --wipe ]]; then rm -rf "$dir"; fi
}

arguments=()
while (($#)); do
  case $1 in
    --dir) dir=$(readlink -m "${2:?--dir needs a directory}"); shift ;;
    *) arguments+=("$1") ;;
  esac
  shift
done
set -- "${arguments[@]}"
action=${1-}
shift || true
if [[ $action != down ]]; then
  for name in "$@"; do
    [[ " ${names[*]} " == *" $name "* ]] || { say "there is no $name; there are ${names[*]}"; exit 2; }
  done
fi
mkdir -p "$dir"
case $action in
  up) up "$@" ;;
  stop) stop_one "${1:?stop whom? one of ${services[*]}}" ;;
  kill) kill_one "${1:?kill whom? one of ${names[*]}}" ;;
  down | status) "$action" "$@" ;;
  *) sed -n '2,13s/^# \?//p' "$0" >&2; exit 2 ;;
esac
