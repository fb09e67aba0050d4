# SPDX-License-Identifier: Apache-2.0
"""docs/audit.md names every action of src/core/audit/audit.h and no other, and the code writes each of them."""
import os
import re
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def actions():
    """{NAME: "its.text"}"""
    body = re.search(r"#define AUDIT_ACTIONS\(X\)(.*?)\n\n", read("src/core/audit/audit.h"), re.S).group(1)
    return dict(re.findall(r'X\((\w+), "([^"]+)"\)', body))


def sources():
    for folder, _, files in os.walk(os.path.join(ROOT, "src")):
        for name in files:
            if name.endswith(".c"):
                with open(os.path.join(folder, name), encoding="utf-8") as f:
                    yield f.read()


class AuditPage(unittest.TestCase):
    def test_the_page_names_the_actions_that_there_are(self):
        section = read("docs/audit.md").split("## What is recorded", 1)[1].split("An entry names who", 1)[0]
        self.assertEqual(sorted(re.findall(r"`([a-z]+\.[a-z]+)`", section)), sorted(actions().values()))

    def test_every_action_is_written_somewhere(self):
        text = "".join(sources())
        unused = {name for name in actions() if not re.search(r"\bAUDIT_%s\b" % name, text)}
        self.assertEqual(unused, set())


if __name__ == "__main__":
    unittest.main()
