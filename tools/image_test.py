#!/usr/bin/env python3
"""The container image has the libraries that the program needs, and no others.

    tools/image_test.py PROGRAM

Compares what the program is linked with to the packages that deploy/Dockerfile installs.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# In every Debian, however slim.
ALWAYS = {"libc6", "libgcc-s1", "libstdc++6"}


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def owner(library):
    """The package for this machine's own programs: there may be others for foreign ones."""
    found = output("dpkg", "--search", "*-linux-gnu/" + library).splitlines()
    return found[0].split(":")[0]


def needed(program):
    libraries = re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "--dynamic", program))
    return {owner(name) for name in libraries if not name.startswith("ld-linux")} - ALWAYS


def installed():
    text = (ROOT / "deploy/Dockerfile").read_text().replace("\\\n", " ")
    packages = re.search(r"--no-install-recommends (.*?)&&", text)[1].split()
    return {package for package in packages if package.startswith("lib")}


wanted, given = needed(sys.argv[1]), installed()
for package in sorted(wanted - given):
    print(f"deploy/Dockerfile does not install {package}, which the program needs")
for package in sorted(given - wanted):
    print(f"deploy/Dockerfile installs {package}, which the program does not need")
sys.exit(wanted != given)
