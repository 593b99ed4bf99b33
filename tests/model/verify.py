#!/usr/bin/env python3
"""Verifies the model of the post with Spin, and that each broken variant of it is caught.

    tests/model/verify.py [--wide] [NAME...]    all runs, or these; --wide: the runs with wider bounds, too
    tests/model/verify.py --story NAME          the counterexample of a variant, step by step

Prints a table and exits with 1 when a run does not end as it must.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

MODEL = pathlib.Path(__file__).resolve().parent / "post.pml"
PROPERTIES = ("landed_twice", "out_of_order", "lost", "stuck", "false_alarm")
MEMORY_MB = 1000
SECONDS_MAX = 900
HOLDS = "holds"
CAUGHT = "caught"


class Run(NamedTuple):
    name: str
    flags: str
    expected: str = CAUGHT
    letters: int = 3  # different letters under way
    rows: int = 16    # different states of the receiver; too few is an error of the run, never a silent bound
    numbers: int = 14

    def defines(self):
        bounds = {"LETTERS": self.letters, "ROWS": self.rows, "NUMBERS_MAX": self.numbers}
        return [f"-D{flag}" for flag in self.flags.split()] + [f"-D{name}={value}" for name, value in bounds.items()]


def proof(name, flags, letters):
    return Run(name, flags, HOLDS, letters, rows=12, numbers=8)


PROOFS = [
    proof("chain", "TWO_B", 4),
    proof("chain-receiver-restored", "RECEIVER_RESTORED", 3),
    proof("chain-sender-restored", "SENDER_RESTORED", 3),
    proof("chain-both-restored", "RECEIVER_RESTORED SENDER_RESTORED", 2),
    proof("numbers", "NUMBERS TWO_B", 4),
    proof("numbers-number-first", "NUMBERS NUMBER_FIRST", 4),
    proof("numbers-sender-restored", "NUMBERS SENDER_RESTORED", 3),
]
WIDE = [
    proof("wide-receiver-restored", "RECEIVER_RESTORED", 4),
    proof("wide-receiver-restored-four-events", "RECEIVER_RESTORED TWO_B", 3),
    proof("wide-both-restored", "RECEIVER_RESTORED SENDER_RESTORED", 3),
]
VARIANTS = [
    Run("settle-not-durable", "NUMBERS NOT_DURABLE"),
    Run("settle-not-durable-and-adopt", "NUMBERS NOT_DURABLE JUST_ADOPT"),
    Run("remembered-ids", "NUMBERS REMEMBERED_IDS"),
    Run("no-compare-and-set", "NUMBERS NO_COMPARE"),
    Run("events-before-number", "NUMBERS EVENTS_FIRST"),
    Run("lands-again", "NUMBERS LANDS_AGAIN"),
    Run("number-stored-before-landing", "NUMBERS NUMBER_BEFORE"),
    Run("number-stored-after-landing", "NUMBERS NUMBER_AFTER"),
    Run("lands-ahead", "RECEIVER_RESTORED LANDS_AHEAD"),
    Run("just-adopt", "RECEIVER_RESTORED JUST_ADOPT"),
    Run("asks-for-owed-only", "RECEIVER_RESTORED ASKS_FOR_OWED"),
    Run("number-first", "RECEIVER_RESTORED NUMBER_FIRST"),
    Run("no-empty-letter", "RECEIVER_RESTORED NO_EMPTY_LETTER"),
    Run("numbers-adopt", "NUMBERS RECEIVER_RESTORED ONE_WORKER"),
    Run("numbers-beyond", "NUMBERS RECEIVER_RESTORED ONE_WORKER BEYOND"),
    Run("numbers-beyond-prompt-answers", "NUMBERS RECEIVER_RESTORED BEYOND PROMPT_ANSWERS"),
]


def verify(run, folder, shortest=False):
    """What the verifier prints; its trail, if any, is in the folder."""
    subprocess.run(["spin", *run.defines(), "-a", MODEL], cwd=folder, check=True)
    effort = ["-O1"] if run.expected == HOLDS else ["-O0"]
    search = ["-DBFS"] if shortest else []
    subprocess.run(["cc", "-w", *effort, "-DSAFETY", "-DNOREDUCE", "-DCOLLAPSE", *search, f"-DMEMLIM={MEMORY_MB}", "-o", "pan", "pan.c"],
                   cwd=folder, check=True)
    ended = subprocess.run(["./pan", "-E", "-w22", "-m100000"], cwd=folder,
                           capture_output=True, text=True, timeout=SECONDS_MAX)
    return ended.stdout + ended.stderr


def outcome(said):
    """HOLDS after an exhaustive search without an error, the property that is violated, or what went wrong."""
    violated = re.search(r"assertion violated (.*?) \(at depth", said)
    if violated:
        named = [name for name in PROPERTIES if re.search(rf"\b{name}\b", violated[1])]
        return named[0] if named else f"broken model: {violated[1].strip()}"
    if "errors: 0" not in said or re.search(r"max search depth too small|Search not completed|out of memory", said):
        return "not exhaustive"
    return HOLDS


def as_expected(run, found):
    return found == HOLDS if run.expected == HOLDS else found in PROPERTIES


def table(runs):
    failures = 0
    print(f"{'run':<36}{'states':>10}  {'result':<26}{'seconds':>8}")
    for run in runs:
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            said = verify(run, folder)
            found = outcome(said)
            if found in PROPERTIES and not replay(run, folder)[-1].startswith("violated"):
                found = "broken model: the counterexample cannot be replayed"
        states = re.search(r"(\d+) states, stored", said)
        result = found if run.expected == HOLDS else f"caught: {found}"
        if not as_expected(run, found):
            failures += 1
            result = f"WRONG: {found}"
        print(f"{run.name:<36}{states[1] if states else '?':>10}  {result:<26}{time.monotonic() - began:>8.1f}", flush=True)
    print(f"{len(runs) - failures} as expected, {failures} wrong")
    return failures


def replay(run, folder):
    """The steps of the counterexample in the folder. The last one is the violation."""
    (pathlib.Path(folder) / MODEL.name).write_text(MODEL.read_text())  # Spin looks for the trail beside the model
    played = subprocess.run(["spin", *run.defines(), "-t", "-T", "-B", MODEL.name], cwd=folder, capture_output=True, text=True)
    steps = ["the start"]
    for line in (line.strip() for line in played.stdout.splitlines()):
        failed = re.search(r"text of failed assertion: (.*)", line)
        if failed:
            return [*steps, f"violated: {failed[1]}"]
        if line.startswith("- "):
            steps.append(line)
    return steps


def story(run):
    with tempfile.TemporaryDirectory() as folder:
        found = outcome(verify(run, folder, shortest=True))
        print("nothing is wrong with it" if found == HOLDS else "\n".join(replay(run, folder)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wide", action="store_true")
    parser.add_argument("--story", metavar="NAME")
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    known = {run.name: run for run in PROOFS + VARIANTS + WIDE}
    unknown = [name for name in [*arguments.names, *filter(None, [arguments.story])] if name not in known]
    if unknown:
        parser.error(f"no run {unknown[0]}; there are {', '.join(known)}")
    if arguments.story:
        story(known[arguments.story])
        return 0
    runs = [known[name] for name in arguments.names] or PROOFS + VARIANTS + (WIDE if arguments.wide else [])
    return 1 if table(runs) else 0


if __name__ == "__main__":
    sys.exit(main())
