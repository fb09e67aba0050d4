# SPDX-License-Identifier: Apache-2.0
"""docs/verification.md names tests of the console that exist, for every page."""
import glob
import os
import re
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def tables():
    """[(what, [names of tests])] of the two tables that say which test tells what."""
    part = read("docs/verification.md").split("Which test tells what", 1)[1].split("**A new user", 1)[0]
    rows = [line.split("|")[1:-1] for line in part.split("\n") if line.startswith("| ")]
    return [(cells[0].strip(), re.findall(r"`([^`]+)`", "|".join(cells[1:]))) for cells in rows if cells[0].strip() not in ("page", "meanwhile")]


class ConsoleTables(unittest.TestCase):
    def test_every_named_test_exists(self):
        files = glob.glob(os.path.join(ROOT, "tests/browser/console*.test.mjs"))
        titles = [line.replace("\\'", "'") for path in files for line in read(os.path.relpath(path, ROOT)).split("\n") if re.match(r"\s*test\(", line)]
        self.assertGreater(len(titles), 60)
        for what, names in tables():
            self.assertTrue(names, what)
            for name in names:
                self.assertTrue(any(name in title for title in titles), f"{what}: no test is called {name!r}")

    def test_every_page_of_the_console_has_a_row(self):
        whats = [what for what, _ in tables()]
        for page in ("signing in", "inbox", "a proposal", "agents", "flags", "audit", "overview", "settings", "other systems", "first steps"):
            self.assertIn(page, whats)


if __name__ == "__main__":
    unittest.main()
