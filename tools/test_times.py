#!/usr/bin/env python3
"""Where the time of a test run went: its slowest ctest tests, and the slowest cases within them.

  tools/test_times.py BUILD_FOLDER...

Each folder may hold ctest.xml (ctest --output-junit) and cases/*.xml (GTEST_OUTPUT=xml:…/cases/).
"""
import pathlib
import sys
import xml.etree.ElementTree as ElementTree

SHOWN = 12


def timed(path, preset, name_of):
    try:
        root = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError):
        return []  # a program that died, or did not run
    return [(float(case.get("time", 0)), preset, name_of(case)) for case in root.iter("testcase")]


def show(title, rows):
    if not rows:
        return
    print(title)
    for seconds, preset, name in sorted(rows, reverse=True)[:SHOWN]:
        print(f"{seconds:8.1f} s  {preset:<10}  {name}")


def main(folders):
    tests, cases = [], []
    for folder in map(pathlib.Path, folders):
        tests += timed(folder / "ctest.xml", folder.name, lambda case: case.get("name"))
        for path in sorted((folder / "cases").glob("*.xml")):
            cases += timed(path, folder.name, lambda case: f"{case.get('classname')}.{case.get('name')}")
    show("slowest programs", tests)
    show("slowest cases", cases)


main(sys.argv[1:])
