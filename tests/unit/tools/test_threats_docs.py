# SPDX-License-Identifier: Apache-2.0
"""docs/threats.md names tests that exist, and a row without one says so."""
import os
import re
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def rows():
    """The last cell of every row: its tests."""
    lines = [line for line in read("docs/threats.md").split("\n") if line.startswith("| ")]
    return [(line.split("|")[1].strip(), line.split("|")[3]) for line in lines if not line.startswith("| threat ")]


def named(cell):
    """[(file, test)] of a cell; a file by itself has the test None."""
    path, found = None, []
    for word in re.findall(r"`([^`]+)`", cell):
        if word.startswith("tests/"):
            path = word
            found.append((path, None))
        else:
            found.append((path, word))
    return found


class ThreatsPage(unittest.TestCase):
    def test_every_row_names_a_test_or_says_that_there_is_none(self):
        self.assertGreater(len(rows()), 30)
        for threat, cell in rows():
            self.assertTrue(named(cell) or "**no test yet**" in cell, threat)

    def test_every_named_test_exists(self):
        for threat, cell in rows():
            for path, name in named(cell):
                self.assertTrue(path and os.path.exists(os.path.join(ROOT, path)), "%s: %s" % (threat, path))
                if name:
                    found = name in read(path).replace("\\'", "'")
                    self.assertTrue(found, "%s: %s has no test called %s" % (threat, path, name))


if __name__ == "__main__":
    unittest.main()
