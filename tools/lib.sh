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

# start_postgres [SETTING=VALUE...]: a private PostgreSQL that ends with this shell, however that
# ends; exports its URL as SKALD_TEST_PG.
start_postgres() {
  postgres_dir=$(mktemp -d "${TMPDIR:-/tmp}/skald-postgres.XXXXXX")
  trap stop_postgres EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  say "starting a private PostgreSQL"
  SKALD_TEST_PG=$("$root/tools/private_postgres.sh" start "$postgres_dir" "$@" 2>"$postgres_dir/start.log") || {
    cat "$postgres_dir/start.log" >&2
    return 1
  }
  export SKALD_TEST_PG
}

stop_postgres() {
  trap '' INT TERM HUP
  "$root/tools/private_postgres.sh" stop "$postgres_dir" 2>/dev/null || say "could not stop PostgreSQL in $postgres_dir"
  rm -rf "$postgres_dir"
}

# Starts a private NATS server beside the PostgreSQL, with the same end, and
# exports its URL as SKALD_TEST_NATS.
start_nats() {
  nats_dir=$(mktemp -d "${TMPDIR:-/tmp}/skald-nats.XXXXXX")
  trap 'stop_nats; stop_postgres' EXIT
  say "starting a private NATS server"
  SKALD_TEST_NATS=$("$root/tools/private_nats.sh" start "$nats_dir")
  export SKALD_TEST_NATS
}

stop_nats() {
  "$root/tools/private_nats.sh" stop "$nats_dir" || say "could not stop the NATS server in $nats_dir"
  rm -rf "$nats_dir"
}
