# shellcheck shell=bash
# What run, test and dev share; sourced by them.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Sanitizers name functions and lines only through a symbolizer; binutils has one.
symbolizer=external_symbolizer_path=/usr/bin/addr2line
export ASAN_OPTIONS=$symbolizer TSAN_OPTIONS=$symbolizer UBSAN_OPTIONS=print_stacktrace=1:$symbolizer

# One cache for every preset and clone: paths count from the root.
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=1

say() { printf 'skald: %s\n' "$*" >&2; }

# at_exit COMMAND: runs when this shell ends, however that is; the last one first.
exit_commands=()
at_exit() {
  exit_commands=("$1" "${exit_commands[@]}")
  trap run_exit_commands EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
}
run_exit_commands() {
  local command
  trap '' INT TERM HUP
  for command in "${exit_commands[@]}"; do eval "$command"; done
}

need_packages() { "$root/tools/install.sh" "$@"; }

# Ninja configures again by itself when a CMake file changes; presets it does not know.
configure() {
  local ninja_file=$root/build/$1/build.ninja
  [[ ! -f $ninja_file || $root/CMakePresets.json -nt $ninja_file ]] || return 0
  say "configuring build/$1"
  (cd "$root" && cmake --fresh --preset "$1" --log-level=WARNING >/dev/null)
}

# build PRESET [TARGET...]: all is everything but what the sanitizers test; no target is everything.
build() {
  local preset=$1
  shift
  (($#)) || set -- all unit_tests
  configure "$preset" || return
  say "building $* in build/$preset"
  cmake --build "$root/build/$preset" --parallel "$(nproc)" --target "$@"
}

# program PRESET NAME: where the built program lies.
program() { find "$root/build/$1" -type f -name "$2" -perm -u+x -print -quit; }

# write_to_memory: what this shell and its programs write to TMPDIR lies in memory from now on, where there is enough; it
# goes with this shell. For tests: none cuts the power, so to wait for a disk shows nothing.
memory_kib_min=$((6 << 20))
write_to_memory() {
  local folder room
  room=$({ df --output=avail -k /dev/shm | tail -n 1; awk '/^MemAvailable/ { print $2 }' /proc/meminfo; } 2>/dev/null | sort -n | head -n 1)
  ((${room:-0} >= memory_kib_min)) && folder=$(mktemp -d /dev/shm/skald.XXXXXX 2>/dev/null) || return 0
  at_exit "rm -rf '$folder'"
  chmod 755 "$folder"  # PostgreSQL may run as a user of its own
  # Some systems run no program that lies there, and tests make programs.
  if cp /bin/true "$folder/probe" && "$folder/probe" 2>/dev/null; then export TMPDIR=$folder; fi
}

# start_postgres [SETTING=VALUE...]: a private PostgreSQL that ends with this shell, however that
# ends; exports its URL as SKALD_TEST_PG.
start_postgres() {
  postgres_dir=$(mktemp -d "${TMPDIR:-/tmp}/skald-postgres.XXXXXX")
  at_exit stop_postgres
  say "starting a private PostgreSQL"
  SKALD_TEST_PG=$("$root/tools/private_postgres.sh" start "$postgres_dir" "$@" 2>"$postgres_dir/start.log") || {
    cat "$postgres_dir/start.log" >&2
    return 1
  }
  export SKALD_TEST_PG
}

stop_postgres() {
  "$root/tools/private_postgres.sh" stop "$postgres_dir" 2>/dev/null || say "could not stop PostgreSQL in $postgres_dir"
  rm -rf "$postgres_dir"
}

# Starts a private NATS server beside the PostgreSQL, with the same end, and
# exports its URL as SKALD_TEST_NATS.
start_nats() {
  nats_dir=$(mktemp -d "${TMPDIR:-/tmp}/skald-nats.XXXXXX")
  at_exit stop_nats
  say "starting a private NATS server"
  SKALD_TEST_NATS=$("$root/tools/private_nats.sh" start "$nats_dir")
  export SKALD_TEST_NATS
}

stop_nats() {
  "$root/tools/private_nats.sh" stop "$nats_dir" || say "could not stop the NATS server in $nats_dir"
  rm -rf "$nats_dir"
}
