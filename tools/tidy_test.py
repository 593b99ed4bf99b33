#!/usr/bin/env python3
"""Each rule of tidy.py finds a planted violation, and a clean tree has none."""
import pathlib
import subprocess
import tempfile
import unittest

import tidy

CLEAN = {
    "CMakeLists.txt": "add_subdirectory(src)\n",
    "src/CMakeLists.txt": "skald_folder(base)\nskald_folder(env DEPS base)\nskald_folder(store DEPS env LIBS x)\n"
                          "skald_folder(runtime DEPS store)\nadd_executable(program store/program_main.cc)\n",
    "src/base/text.h": "#pragma once\n",
    "src/base/text.cc": '#include "base/text.h"\n',
    "src/env/real.cc": "auto now() { return std::chrono::steady_clock::now(); }\n",
    "src/runtime/loop.cc": '#include "store/pool.h"\n#include "skald/database.h"\nstd::thread loop;\n',
    "src/store/pool.h": '#include "base/text.h"\n#include "skald/error.h"\n',
    "src/store/pool_test.cc": '#include "store/pool.h"\nstd::thread stress;\n',
    "src/store/program_main.cc": "int main() {}  // std::thread belongs to the runtime\n",
    "include/skald/error.h": "#pragma once\n",
    "include/skald/database.h": '#include "skald/error.h"\n',
    "services/donation/donation.cc": '#include "donation/table.h"\n#include "host/host.h"\n#include "skald/database.h"\n',
    "services/donation/table.h": "#pragma once\n",
    "services/host/host.h": "#pragma once\n",
    "services/CMakeLists.txt": "file(GLOB_RECURSE sources ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)\n",
    "dev": "#!/bin/sh\ntools/measure.sh\nmktemp -d here.XXXX\n",
    "tools/measure.sh": "#!/bin/sh\n",
    "README.md": "[architecture](docs/architecture.md)\n",
    "docs/architecture.md": "[readme](../README.md) GET /api/{id}/wor" "k/\n",
}


def violations(planted):
    with tempfile.TemporaryDirectory() as root:
        subprocess.run(["git", "init", "-q", root], check=True)
        for path, text in {**CLEAN, **planted}.items():
            file = pathlib.Path(root, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        tree = tidy.Tree(root)
        return [(rule.__name__, path, line) for rule in tidy.RULES for path, line, _ in rule(tree)]


class TidyTest(unittest.TestCase):
    def finds(self, rule, path, text, line=1, **others):
        self.assertEqual(violations({path: text, **others}), [(rule, path, line)])

    def test_a_clean_tree_has_no_violation(self):
        self.assertEqual(violations({}), [])

    def test_clocks_randomness_sleeps_and_threads_are_found_outside_of_env_and_runtime(self):
        for call in ("system_clock::now()", "std::chrono::steady_clock::now()", "std::random_device d;", "mt19937 g;",
                     "mt19937_64 g;", "sleep_for(1s)", "sleep_until(t)", "std::thread t;", "std::jthread t;",
                     "usleep(1)", "sleep(1)", "nanosleep(t)", "std::async(f)", "gettimeofday(t)", "clock_gettime(c)",
                     "time(nullptr)", "std::time(NULL)", "rand()"):
            with self.subTest(call):
                self.finds("handed_in", "src/store/pool.cc", "\n" + call, line=2)
        self.finds("handed_in", "services/donation/late.cc", "std::thread t;")
        self.finds("handed_in", "include/skald/error.h", "std::thread t;")

    def test_a_test_may_start_threads_but_not_sleep(self):
        self.finds("handed_in", "src/store/pool_test.cc", '#include "store/pool.h"\nsleep_for(1s); std::thread t;', 2)

    def test_a_folder_that_includes_what_lies_above_it_is_found(self):
        self.finds("direction", "src/base/text.cc", '#include "base/text.h"\n#include "store/pool.h"', 2)
        self.finds("direction", "src/base/text.cc", '#include "base/text.h"\n#include "skald/database.h"', 2)
        self.finds("direction", "src/store/pool_test.cc", '#include "store/pool.h"\n#include "runtime/loop.h"', 2)

    def test_a_folder_that_cmake_does_not_know_is_found(self):
        self.assertIn(("direction", "src/elsewhere/thing.cc", 1), violations({"src/elsewhere/thing.cc": ""}))

    def test_a_public_header_that_includes_what_lies_above_it_is_found(self):
        self.finds("direction", "include/skald/error.h", '#include "skald/database.h"')

    def test_a_public_header_without_a_layer_is_found(self):
        self.finds("direction", "include/skald/novel.h", "",
                   **{"services/donation/donation.cc": CLEAN["services/donation/donation.cc"] +
                                                       '#include "skald/novel.h"\n'})

    def test_a_service_that_includes_the_inside_of_the_engine_or_another_service_is_found(self):
        for included in ("store/pool.h", "order/table.h", "sim/world.h", "services/order/table.h"):
            with self.subTest(included):
                self.finds("services_on_public_headers", "services/donation/late.cc", f'#include "{included}"',
                           **{"services/order/order.cc": "",
                              "services/CMakeLists.txt": CLEAN["services/CMakeLists.txt"] +
                                                         "skald_folder(donation DEPS golf)\n"})

    def test_a_service_may_include_what_it_depends_on(self):
        tree = {"services/donation/late.cc": '#include "golf/slot.h"\n', "services/golf/slot.h": "#pragma once\n",
                "services/CMakeLists.txt": CLEAN["services/CMakeLists.txt"] + "skald_folder(donation DEPS golf)\n"}
        self.assertEqual(violations(tree), [])

    def test_a_header_that_nobody_includes_is_found(self):
        self.finds("dead_headers", "src/store/lonely.h", '#include "store/lonely.h"')

    def test_a_source_that_nothing_builds_is_found(self):
        self.finds("dead_sources", "bench/lonely.cc", "")
        self.finds("dead_sources", "src/store/lonely_main.cc", "")

    def test_a_script_that_nothing_runs_is_found(self):
        self.finds("dead_scripts", "tools/lonely.py", "")
        self.finds("dead_scripts", "bench/lonely.mjs", "", **{"bench/package.json": '"not-lonely.mjs"'})

    def test_a_document_without_a_link_is_found(self):
        self.finds("dead_documents", "docs/decisions/0001-lonely.md", "[itself](0001-lonely.md)")

    def test_a_long_file_is_found(self):
        self.finds("length", "src/store/long.cc", "\n" * 401, 401)
        self.assertEqual(violations({"src/store/long.cc": "\n" * 400}), [])

    def test_unfinished_work_is_found(self):
        for word in ("TO" "DO", "FIX" "ME", "XX" "X", "GTEST_" "SKIP()", "DISABLED" "_too_slow"):
            with self.subTest(word):
                self.finds("words", "src/store/open.cc", f"// {word}")
                self.finds("words", "dev", CLEAN["dev"] + f"# {word}", 4)

    def test_a_path_of_one_machine_is_found(self):
        for place in ("wor" "k", "ro" "ot", "ho" "me"):
            with self.subTest(place):
                self.finds("words", "README.md", CLEAN["README.md"] + f"see /{place}/here", 2)

    def test_a_file_name_that_says_nothing_is_found(self):
        for name in ("string_util", "RelayManager", "helpers", "misc", "common_types"):
            with self.subTest(name):
                self.finds("names", f"src/store/{name}.cc", "")

    def test_an_ignored_file_is_not_looked_at(self):
        self.assertEqual(violations({".gitignore": "/build/\n", "build/lonely.h": ""}), [])

    def test_a_code_that_is_not_documented_is_found_and_one_that_nobody_answers_with(self):
        self.finds("documented_codes", "src/store/pool.cc", 'throw Busy("POOL_EMPTY", "wait");')
        self.finds("documented_codes", "src/store/pool.cc", '\nthrow Busy("EMPTY", "wait");', line=2)
        self.finds("documented_codes", "services/donation/refuse.cc", 'refuse({503, "TOO_MUCH", "later"});')
        page = {"docs/errors.md": "[readme](../README.md)\n| `POOL_EMPTY` | Wait. |\n", "README.md": "[e](docs/errors.md) [a](docs/architecture.md)\n"}
        self.assertEqual(violations(page), [("documented_codes", "docs/errors.md", 2)])
        self.assertEqual(violations({**page, "src/store/pool.cc": 'throw Busy("POOL_EMPTY", "wait");'}), [])
        self.assertEqual(violations({"src/store/pool_test.cc": '#include "store/pool.h"\nBusy("MADE_UP", "");'}), [])


if __name__ == "__main__":
    unittest.main()
