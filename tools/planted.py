#!/usr/bin/env python3
"""Planted bugs: patches in tests/planted that each break one rule of the product. A harness must turn red for each.

    tools/planted.py [NAME...]      those, or all: applied to a copy of the tree in build/planted, built, run; a table
    tools/planted.py --check        all of them still apply, and each names its rule and its harness
    tools/planted.py --some N       N of them, others after each commit

A patch begins with two lines; what follows is a diff from the root:

    rule: A sentence of the product that is no longer true
    caught by: PROGRAM ARGUMENT...  a program of the build, which passes without the patch and fails with it
"""

import argparse
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parent.parent
PATCHES = ROOT / "tests/planted"
COPY = ROOT / "build/planted"
RUN_SECONDS = 600


@dataclass
class Bug:
    path: pathlib.Path
    rule: str
    harness: list[str]

    @property
    def name(self) -> str:
        return str(self.path.relative_to(PATCHES).with_suffix(""))


def read_bug(path: pathlib.Path) -> Bug:
    head = dict(line.split(": ", 1) for line in path.read_text().splitlines()[:2] if ": " in line)
    if set(head) != {"rule", "caught by"}:
        sys.exit(f"{path}: its first two lines are not `rule: …` and `caught by: …`")
    return Bug(path, head["rule"], shlex.split(head["caught by"]))


def git_apply(folder: pathlib.Path, bug: Bug, *options: str) -> bool:
    # The copy lies inside of this repository: to git it is none.
    environment = os.environ | {"GIT_CEILING_DIRECTORIES": str(folder.parent)}
    done = subprocess.run(["git", "apply", *options, str(bug.path)], cwd=folder, env=environment, capture_output=True)
    if done.returncode:
        print(f"{bug.name}: {done.stderr.decode().strip()}")
    return done.returncode == 0


def renew_copy() -> None:
    """Only what differs is written, so that only that is built."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, check=True, capture_output=True)
    names = {name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()}
    for old in COPY.rglob("*"):
        name = str(old.relative_to(COPY))
        if not name.startswith("build/") and old.is_file() and name not in names:
            old.unlink()
    for name in names:
        here, there = ROOT / name, COPY / name
        if there.is_file() and there.read_bytes() == here.read_bytes():
            continue
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(here, there)
        os.utime(there)


def build(program: str) -> bool:
    return subprocess.run([str(COPY / "dev"), "build", program, "skald"], stdout=subprocess.DEVNULL).returncode == 0


def program_path(name: str) -> str:
    for path in sorted((COPY / "build/release").rglob(name)):
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
    sys.exit(f"the build has no program {name}")


def passes(bug: Bug) -> bool | None:
    """None: it did not come to an end."""
    words = [program_path(bug.harness[0]), *bug.harness[1:]]
    with open(COPY / "build/harness.log", "w") as log:
        try:
            return subprocess.run(words, stdout=log, stderr=log, timeout=RUN_SECONDS).returncode == 0
        except subprocess.TimeoutExpired:
            return None


def hunt(bug: Bug, intact: dict[str, bool | None]) -> str:
    """What became of it; `caught` is the only good end."""
    key = shlex.join(bug.harness)
    if key not in intact:
        intact[key] = build(bug.harness[0]) and passes(bug)
    if not intact[key]:
        return "its harness fails without it"
    if not git_apply(COPY, bug):
        return "does not apply"
    try:
        if not build(bug.harness[0]):
            return "does not build"
        return {True: "NOT caught", False: "caught", None: f"not over in {RUN_SECONDS} s"}[passes(bug)]
    finally:
        git_apply(COPY, bug, "--reverse")


def check(bugs: list[Bug]) -> int:
    bad = [bug for bug in bugs if not git_apply(ROOT, bug, "--check")]
    print(f"{len(bugs) - len(bad)} of {len(bugs)} planted bugs apply")
    return 1 if bad else 0


def chosen(bugs: list[Bug], some: int) -> list[Bug]:
    count = subprocess.run(["git", "rev-list", "--count", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    first = int(count.stdout or 0) * some
    return [bugs[(first + i) % len(bugs)] for i in range(min(some, len(bugs)))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--some", type=int)
    asked = parser.parse_args()
    bugs = [read_bug(path) for path in sorted(PATCHES.rglob("*.patch"))]
    if asked.check:
        return check(bugs)
    if unknown := set(asked.names) - {bug.name for bug in bugs}:
        sys.exit(f"no such planted bug: {', '.join(sorted(unknown))}")
    if asked.names:
        bugs = [bug for bug in bugs if bug.name in asked.names]
    if asked.some:
        bugs = chosen(bugs, asked.some)
    renew_copy()
    intact: dict[str, bool | None] = {}
    missed = 0
    for bug in bugs:
        began = time.monotonic()
        end = hunt(bug, intact)
        missed += end != "caught"
        print(f"{end:12} {time.monotonic() - began:5.0f} s  {bug.name}: {bug.rule}", flush=True)
    print(f"{len(bugs) - missed} of {len(bugs)} caught")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
