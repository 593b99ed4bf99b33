#!/usr/bin/env python3
"""The rules of the repository that a compiler does not check.

    tools/tidy.py [ROOT]

Looks at every file that git tracks or would track, prints each violation as
`file:line: sentence`, and exits with 1 when there is one. A rule is a generator
of (path, line, sentence) over a Tree; RULES at the end lists them. Patterns are
spelled so that they do not match themselves.
"""
import functools
import pathlib
import posixpath
import re
import subprocess
import sys

LINES_MAX = 400
CODE = {".cc", ".h", ".py", ".sh", ".ts", ".tsx", ".js", ".mjs", ".css", ".cmake"}
SCRIPTS = {".py", ".sh", ".ts", ".tsx", ".js", ".mjs"}

# Where time, randomness and threads must be handed in (skald/env.h), and where they come from.
PURE = ("src/", "include/", "services/", "sim/")
IMPURE = ("src/env/", "src/runtime/")
THREADS = re.compile(r"\bstd::j?thread\b(?!::id)|\bstd::async\b")
CLOCKS = re.compile(
    r"\b\w+_clock::now\b|\brandom_device\b|\bmt19937|\bsleep_(?:for|until)\b|\busleep\(|(?<!\w)::sleep\(|(?:^|[;{}])\s*sleep\(|\bnanosleep\b"
    r"|\bgettimeofday\b|\bclock_gettime\b|\btime\((?:nullptr|NULL|0)\)|\bs?rand\(")

# The folder of src/ that implements each public header: it may include what that folder may.
HEADERS = {
    "error": "base", "time": "base", "event": "base", "json": "base", "lenient_json": "base", "row": "base", "schema": "base",
    "entry": "base", "text": "base", "controls": "base", "secret_mask": "base",
    "env": "env", "process": "process", "id": "env", "trace": "env",
    "database": "store", "typed_rows": "store", "checklist": "store", "conditions": "base",
    "bus": "bus", "post": "bus", "subscriber": "base", "nats": "bus", "jetstream": "bus",
    "dead_letter": "dead_letter",
    "outbox": "outbox",
    "observe": "observe",
    "isolation": "isolation", "row_locks": "isolation", "optimistic": "isolation", "aggregate": "isolation", "commutative": "isolation",
    "version_file": "isolation", "distributed_lock": "isolation", "checker": "isolation", "analyser": "isolation",
    "columns": "base", "lock_mode": "base", "lock_view": "base", "row_watch": "base",
    "saga_definition": "isolation", "saga": "isolation", "saga_start": "base", "saga_view": "base", "sagas": "saga",
    "engine": "runtime", "story": "store",
    "sim": "sim_kit",
    "http": "http",
    "cli": "cli",
}

# A literal in capitals with an underscore is an error's code, unless it is one of these; in one word it
# is, where it is given to an error, a problem or a reason.
CODE_LITERAL = re.compile(r'"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)"')
CODE_GIVEN = re.compile(
    r"\b(?:Conflict|Busy|Stale|LockTimeout|Refused|Unavailable|CommitUnknown|Invalid|Malformed|Corrupt|NotFound"
    r'|Unauthorized|Forbidden|Error|Failure|complain)\s*(?:\w+\s*)?[({]\s*"([A-Z][A-Z0-9]*)"')
CODE_DOCUMENTED = re.compile(r"^\| `([A-Z][A-Z0-9_]*)` \|")
NO_CODES = {"SKALD_CONFIG", "SKALD_RUN", "NEEDS_HELP", "SKALD_SPACE", "SKALD_WORKFLOW", "SKALD_WORK",
            "SKALD_TASK", "SKALD_MCP", "SKALD_MAILBOX", "LC_ALL", "GIT_CONFIG_GLOBAL"}

WORDS = re.compile(r"\b(?:(?:TO[D]O|FIX[M]E|X[X]X|GTEST_SK[I]P)\b|DISABL[E]D_)")
MACHINE_PATHS = re.compile(r"(?<![\w.})*\]-])/(?:wor[k]|roo[t]|hom[e])/")
VAGUE_NAMES = re.compile(r"manager|helper|util|misc|common")
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]')
LINK = re.compile(r"\]\(([^)#\s]+)")


class Tree:
    """The files of one repository, as git sees them; texts are read once."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        listed = subprocess.run(
            ["git", "-c", "safe.directory=*", "-C", str(root), "ls-files", "-co", "--exclude-standard", "-z"],
            check=True, capture_output=True, text=True).stdout
        self.files = sorted(path for path in set(listed.split("\0")) if path and (self.root / path).is_file())

    @functools.lru_cache(maxsize=None)
    def text(self, path):
        """The text of a file; empty for a binary one."""
        data = (self.root / path).read_bytes()
        return "" if b"\0" in data else data.decode("utf-8", "replace")

    def lines(self, path):
        return enumerate(self.text(path).splitlines(), 1)

    def is_code(self, path):
        name = posixpath.basename(path)
        return suffix(path) in CODE or name == "CMakeLists.txt" or ("." not in name and self.text(path)[:2] == "#!")

    def having(self, *suffixes):
        return [path for path in self.files if suffix(path) in suffixes]

    def cmake_files(self):
        return [path for path in self.files if suffix(path) == ".cmake" or path.endswith("CMakeLists.txt")]

    @functools.lru_cache(maxsize=None)
    def includes(self, path):
        """(line, what is included) of a C++ file."""
        found = ((number, INCLUDE.match(line)) for number, line in self.lines(path))
        return [(number, match[1]) for number, match in found if match]


def suffix(path):
    return posixpath.splitext(path)[1]


def stem(path):
    return posixpath.splitext(posixpath.basename(path))[0]


def handed_in(tree):
    for path in tree.having(".cc", ".h"):
        if not path.startswith(PURE) or path.startswith(IMPURE):
            continue
        for number, line in tree.lines(path):
            code = re.sub(r"(?<!:)//.*", "", line)
            found = CLOCKS.search(code) or (not path.endswith(("_test.cc", "_fixture.h")) and THREADS.search(code))
            if found:
                yield path, number, f"{found[0]} is used; take time, randomness and threads from skald::Env or src/runtime"


def folder_dependencies(tree, path="src/CMakeLists.txt"):
    """folder -> (folders it may include, folders its tests may), from skald_folder(NAME DEPS … TEST_DEPS …)."""
    direct, tests = {}, {}
    text = re.sub(r"#.*", "", tree.text(path)) if path in tree.files else ""
    for name, arguments in re.findall(r"skald_folder\(\s*(\w+)([^)]*)\)", text):
        kind, lists = None, {"DEPS": set(), "TEST_DEPS": set(), "LIBS": set()}
        for word in arguments.split():
            if word in lists:
                kind = word
            elif kind:
                lists[kind].add(word)
        direct[name], tests[name] = lists["DEPS"], lists["TEST_DEPS"]

    def closure(folders):
        reached, todo = set(), list(folders)
        while todo:
            folder = todo.pop()
            if folder not in reached:
                reached.add(folder)
                todo += direct.get(folder, ())
        return reached

    # skald_test() links every test with env.
    return {name: (closure({name}), closure({name, "env"} | tests[name])) for name in direct}


def direction(tree):
    allowed = folder_dependencies(tree)
    for path in tree.having(".cc", ".h"):
        parts = path.split("/")
        if path.startswith("include/skald/"):
            folder = HEADERS.get(stem(path))
            if folder is None:
                yield path, 1, "a public header without a layer; add it to the table HEADERS in tools/tidy.py"
                continue
        elif parts[0] == "src" and len(parts) > 2:
            folder = parts[1]
        else:
            continue
        if folder not in allowed:
            yield path, 1, f"src/CMakeLists.txt has no skald_folder({folder})"
            continue
        reachable = allowed[folder][path.endswith("_test.cc")]
        for number, included in tree.includes(path):
            top = included.split("/")[0]
            target = HEADERS.get(stem(included)) if top == "skald" else top
            if target in allowed and target not in reachable:
                yield path, number, f"{folder} must not include {included}: {target} is not below it in src/CMakeLists.txt"


def services_on_public_headers(tree):
    private = {"src", "sim", "tests", "bench"} | set(folder_dependencies(tree))
    private |= {path.split("/")[1] for path in tree.files if path.startswith("services/") and path.count("/") > 1}
    shared = folder_dependencies(tree, "services/CMakeLists.txt")
    for path in tree.having(".cc", ".h"):
        if not path.startswith("services/"):
            continue
        own = path.split("/")[1]
        if own == "host":
            continue  # the bootstrap wires what services must not know: adapters, threads, the HTTP server
        for number, included in tree.includes(path):
            top = included.removeprefix("services/").split("/")[0]
            if top in private and top not in {own, "host", *shared.get(own, ((),))[0]}:
                yield path, number, f"a service must not include {included}; only skald/, its own folder and its DEPS"


def dead_headers(tree):
    included = {(path, name) for path in tree.having(".cc", ".h") for _, name in tree.includes(path)}
    for header in tree.having(".h"):
        if not any(path != header and f"/{header}".endswith("/" + name) for path, name in included):
            yield header, 1, "nobody includes this header; delete it"


def built_by_glob(tree):
    """Patterns of the sources that CMake finds by itself; programs (*_main.cc) are named one by one."""
    for path in tree.cmake_files():
        here, text = posixpath.dirname(path), tree.text(path)
        for name in re.findall(r"skald_folder\(\s*(\w+)", text):
            yield re.compile(re.escape(posixpath.join(here, name)) + r"/(?!.*_main\.cc$).*\.cc")
        for kind, arguments in re.findall(r"GLOB(_RECURSE)?\s([^)]*)\)", text):
            for word in arguments.split():
                word = word.replace("${CMAKE_CURRENT_SOURCE_DIR}/", "").replace("${PROJECT_SOURCE_DIR}/", "/")
                if word.endswith(".cc") and "$" not in word:
                    pattern = re.escape(posixpath.join("/" + here, word)[1:]).replace(r"\*", "[^/]*")
                    yield re.compile(pattern if not kind else pattern.replace("/[^/]*", "/.*"))


def dead_sources(tree):
    globs = list(built_by_glob(tree))
    for path in tree.having(".cc"):
        named = re.compile(rf"\b{re.escape(stem(path))}\b")
        above = [cmake for cmake in tree.cmake_files() if path.startswith(posixpath.dirname(cmake))]
        if not any(glob.fullmatch(path) for glob in globs) and not any(named.search(tree.text(c)) for c in above):
            yield path, 1, "no CMakeLists.txt builds this file; add it or delete it"


def dead_scripts(tree):
    for path in tree.files:
        if suffix(path) not in SCRIPTS:
            continue
        whole = re.compile(rf"(?<![\w-]){re.escape(posixpath.basename(path))}\b")
        imported = re.compile(rf"\b(?:import|from)\b.*\b{re.escape(stem(path))}\b")
        # A reader of the docs runs what lies in docs/; elsewhere a mention runs nothing.
        others = (other for other in tree.files
                  if other != path and (suffix(other) != ".md" or path.startswith("docs/")))
        if not any(whole.search(tree.text(other)) or (suffix(other) in SCRIPTS and imported.search(tree.text(other)))
                   for other in others):
            yield path, 1, "nothing runs or imports this file; delete it"


def dead_documents(tree):
    linked = {(path, posixpath.normpath(posixpath.join(posixpath.dirname(path), target)))
              for path in tree.having(".md") for target in LINK.findall(tree.text(path))}
    for path in tree.having(".md"):
        if path.startswith("docs/") and not any(target == path and source != path for source, target in linked):
            yield path, 1, "no other document links to this one; link it or delete it"


def length(tree):
    for path in tree.files:
        count = len(tree.text(path).splitlines()) if tree.is_code(path) else 0
        if count > LINES_MAX:
            yield path, count, f"{count} lines, more than {LINES_MAX}; it is two things"


def words(tree):
    for path in tree.files:
        for number, line in tree.lines(path):
            found = tree.is_code(path) and WORDS.search(line)
            if found:
                yield path, number, f"{found[0]} is left in the code; finish it or write an issue"
            if MACHINE_PATHS.search(line):
                yield path, number, "a path of one machine; make it relative"


def names(tree):
    for path in tree.files:
        found = VAGUE_NAMES.search(posixpath.basename(path).lower())
        if found:
            yield path, 1, f"'{found[0]}' in a file name does not say what is inside; name the thing"


def documented_codes(tree):
    """Every code that the program can answer with stands in docs/errors.md, and no other does."""
    page = "docs/errors.md"
    documented = {match[1]: number for number, line in tree.lines(page) if (match := CODE_DOCUMENTED.match(line))} \
        if page in tree.files else {}
    written = set()
    for path in tree.having(".cc", ".h"):
        if not path.startswith(("src/", "services/", "include/")) or path.endswith(("_test.cc", "_fixture.h")):
            continue
        text = re.sub(r"(?m)(?<!:)//.*", "", tree.text(path))
        written |= set(re.findall(r'"([A-Z][A-Z0-9_]*)"', text))
        for pattern in (CODE_LITERAL, CODE_GIVEN):
            for match in pattern.finditer(text):
                if match[1] not in documented and match[1] not in NO_CODES:
                    number = text.count("\n", 0, match.start(1)) + 1
                    yield path, number, f"the code {match[1]} is not documented; say in {page} what it means"
    for code, number in documented.items():
        if code not in written:
            yield page, number, f"nothing answers with {code}; delete the line"


RULES = [handed_in, direction, services_on_public_headers, dead_headers, dead_sources, dead_scripts, dead_documents,
         length, words, names, documented_codes]


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    tree = Tree(root)
    violations = [found for rule in RULES for found in rule(tree)]
    for path, line, sentence in violations:
        print(f"{path}:{line}: {sentence}")
    print(f"tidy: {len(tree.files)} files, {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
