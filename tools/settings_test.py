#!/usr/bin/env python3
"""Every setting has an effect that can be seen from outside, by file, by environment and by flag.

    tools/settings_test.py PROGRAM [SETTING...]

settings_cases.py and settings_*_cases.py have one function for each setting of
`skald serve --help`, and the test fails for one that has none. To add one:

    @case("http.threads", 200)
    def http_threads(given):
        return given.serve().threads() > 200

The function starts the program with given.serve(): the setting comes on the way that is tried, others
as given there (`outbox__retries_max=0`). It returns whether the effect is seen. Without the setting it
must not be: that is tried, too, so that no case is hollow. `waits` leaves that out where nothing but
time would show that something does not happen.
"""
import concurrent.futures
import re
import subprocess
import sys
import traceback

import settings_agentflow_cases  # noqa: F401, registers
import settings_cases  # noqa: F401
import settings_edge_cases  # noqa: F401
import settings_service_cases  # noqa: F401
from settings_kit import Given, variable
from settings_steps import CASES


def settings_of(program):
    """Path by path: whether it is a secret."""
    text = subprocess.run([program, "serve", "--help"], check=True, capture_output=True, text=True).stdout
    names = re.findall(r"^  (--[a-z0-9-]+|SKALD_[A-Z0-9_]+)", text[text.index("\nSettings"):], re.M)
    known = {variable(path): path for path in CASES}
    out, missing = {}, []
    for name in names:
        spelled_out = name if name.startswith("SKALD_") else variable(name[2:].replace("-", "_"))
        if spelled_out in known:
            out[known[spelled_out]] = name.startswith("SKALD_")
        else:
            missing.append(name)
    return out, missing


def run(program, path, is_secret, way):
    function, value, waits = CASES[path]
    if (way == "flag" and is_secret) or (way == "none" and waits):
        return None
    try:
        with Given(program, path, value, way, is_secret) as given:
            seen = function(given)
        if seen != (way != "none"):
            return f"{path} by {way}: the effect is {'seen' if seen else 'not seen'}"
    except Exception:
        return f"{path} by {way}: {traceback.format_exc()}"
    return None


def main(program, wanted):
    settings, missing = settings_of(program)
    faults = [f"{name} has no case: add one that shows its effect to tools/settings_cases.py" for name in missing]
    faults += [f"there is no setting {path} any more" for path in CASES if path not in settings]
    chosen = [path for path in settings if not wanted or path in wanted]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(run, program, path, settings[path], way)
                for path in chosen for way in ("file", "environment", "flag", "none")]
        faults += [fault for one in runs if (fault := one.result())]
    print("\n".join(faults))
    print(f"{len(chosen)} settings, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
