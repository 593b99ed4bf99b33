#!/usr/bin/env bash
# Installs the packages that packages.txt lists under the named sections and
# that are missing. Silent when none is.
#   tools/install.sh build [test] [bench]
set -euo pipefail

list=$(dirname "$(readlink -f "$0")")/packages.txt
wanted=()
while read -r section package command; do
  [[ -n $section && " $* " == *" $section "* ]] || continue
  [[ -n $command ]] && command -v "$command" >/dev/null && continue
  wanted+=("$package")
done < <(sed 's/#.*//' "$list")
((${#wanted[@]})) || exit 0

if ! command -v dpkg-query >/dev/null; then
  echo "skald: this is not Debian; install what $list lists by hand, then put its programs in the PATH" >&2
  exit 1
fi

# dpkg-query fails when a package is unknown to it, which is an answer too.
present=" $(dpkg-query -W -f='${db:Status-Status}:${Package} ' "${wanted[@]}" 2>/dev/null || true)"
missing=()
for package in "${wanted[@]}"; do
  [[ $present == *" installed:$package "* ]] || missing+=("$package")
done
((${#missing[@]})) || exit 0

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "skald: these packages are missing: ${missing[*]}" >&2
    echo "skald: you are not root and there is no sudo; as root, run: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "skald: installing ${missing[*]}" >&2
apt() { ${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 "$@" >&2; }
apt update -qq
apt install -q -y --no-install-recommends "${missing[@]}"
