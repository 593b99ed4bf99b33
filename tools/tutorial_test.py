#!/usr/bin/env python3
"""What the documents show is true: their code is compiled, their commands run.

    tools/tutorial_test.py BUILD_FOLDER DOCUMENT...

A block of `cpp` or `cmake` must stand in one file of examples/, line for line but for
indentation and empty lines; a line of only `…` (or `// …`) stands for lines left out. A
block of `console` is run: each line that begins with `$ ` in bash, in one empty folder for
each document, and its output must be what follows, where `…` stands for anything within
a line. $URL is an empty database of the server that SKALD_TEST_PG names.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SECONDS_MAX = 60


def blocks(document):
    """(line, language, text) of each fenced block."""
    text = document.read_text()
    for match in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S):
        yield text.count("\n", 0, match.start()) + 1, match[1], match[2]


def meaningful(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


def sources():
    for path in sorted((ROOT / "examples").rglob("*")):
        if path.suffix in (".h", ".cc", ".txt"):
            yield meaningful(path.read_text())


def stands_in(block, source):
    """Whether each part of the block is a run of lines in the source, in order."""
    parts, begin = [[]], 0
    for line in block:
        if line in ("…", "// …"):
            parts.append([])
        else:
            parts[-1].append(line)
    for part in parts:
        places = (i for i in range(begin, len(source) - len(part) + 1) if source[i:i + len(part)] == part)
        place = next(places, None)
        if place is None:
            return False
        begin = place + len(part)
    return True


def commands(block):
    """(command, expected output) of a console block."""
    for piece in re.split(r"^\$ ", block, flags=re.M)[1:]:
        command, _, output = piece.partition("\n")
        yield command, output


def pattern(expected):
    return re.compile("[^\n]*".join(re.escape(part) for part in expected.split("…")))


class Scratch:
    """An empty database of its own on the server for tests."""

    def __init__(self):
        self.server = os.environ.get("SKALD_TEST_PG")
        self.name = f"skald_tutorial_{os.getpid()}"

    def sql(self, text):
        subprocess.run(["psql", "-qX", "-c", text, self.server], check=True, stderr=subprocess.DEVNULL)

    def __enter__(self):
        if not self.server:
            sys.exit("SKALD_TEST_PG is not set: run ./test, or set it to a postgresql:// URL of a server for tests")
        self.sql(f"CREATE DATABASE {self.name}")
        return re.sub(r"/[^/]*$", f"/{self.name}", self.server)

    def __exit__(self, *_):
        self.sql(f"DROP DATABASE {self.name} WITH (FORCE)")


def run(command, folder, environment):
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, timeout=SECONDS_MAX,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout


def check(document, known, environment):
    """(line, sentence) of everything that is not true."""
    with tempfile.TemporaryDirectory() as folder:
        for line, language, text in blocks(document):
            if language in ("cpp", "cmake"):
                if not any(stands_in(meaningful(text), source) for source in known):
                    yield line, "this code stands in no file of examples/"
            if language == "console":
                for command, expected in commands(text):
                    seen = run(command, folder, environment)
                    if not pattern(expected).fullmatch(seen):
                        yield line, f"`{command}` printed:\n{seen}"


def main():
    build, documents = pathlib.Path(sys.argv[1]).resolve(), [pathlib.Path(name) for name in sys.argv[2:]]
    known = list(sources())
    wrong = checked = 0
    with Scratch() as url:
        path = os.pathsep.join([str(build / "examples" / "first_saga"), str(build / "examples"), os.environ["PATH"]])
        environment = {**os.environ, "PATH": path, "URL": url}
        for document in documents:
            checked += sum(1 for _ in blocks(document))
            for line, sentence in check(document, known, environment):
                wrong += 1
                print(f"{document.name}:{line}: {sentence}")
    print(f"{checked} blocks, {wrong} wrong")
    return 1 if wrong or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
