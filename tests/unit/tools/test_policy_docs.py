# SPDX-License-Identifier: Apache-2.0
"""docs/policy.md says what src/core/gate/policy.c says: the same sentences, in the same order."""
import os
import re
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
HEADINGS = {"risks": "## 1.", "refusals": "## 2.", "questions": "## 3."}


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def rows_of_code(table):
    """[(reason, level)] of one rule_row table."""
    body = re.search(r"struct rule_row %s\[\] = \{(.*?)^\};" % table, read("src/core/gate/policy.c"), re.M | re.S)
    joined = re.sub(r'"\s*\n\s*"', "", body.group(1))
    rows = re.findall(r'\{\s*\w+,\s*RISK_(\w+),\s*"([^"]+)"\s*\}', joined)
    assert len(rows) == joined.count("RISK_"), "a row of %s has another form" % table
    return [(reason, level.lower()) for level, reason in rows]


def rows_of_page(table):
    """The cells of the table below a heading."""
    section = read("docs/policy.md").split("\n" + HEADINGS[table], 1)[1].split("\n## ", 1)[0]
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in section.split("\n") if line.startswith("|")]
    return rows[2:]


class PolicyPage(unittest.TestCase):
    maxDiff = None

    def test_risk_rules_are_on_the_page_with_their_level(self):
        self.assertEqual([(r[0], r[1]) for r in rows_of_page("risks")], rows_of_code("risks"))

    def test_refusals_are_on_the_page(self):
        self.assertEqual([r[0] for r in rows_of_page("refusals")], [r for r, _ in rows_of_code("refusals")])

    def test_questions_are_on_the_page(self):
        self.assertEqual([r[0] for r in rows_of_page("questions")], [r for r, _ in rows_of_code("questions")])

    def test_no_other_table_of_reasons_is_in_the_code(self):
        tables = re.findall(r"struct rule_row (\w+)\[\]", read("src/core/gate/policy.c"))
        self.assertEqual(sorted(tables), sorted(HEADINGS))

    def test_every_setting_is_on_the_page_and_no_other(self):
        names = re.findall(r"FIELD_\w+\(\s*struct written, (\w+)", read("src/core/gate/settings.c"))
        camel = {re.sub(r"_(\w)", lambda m: m.group(1).upper(), n) for n in names}
        section = read("docs/policy.md").split("## The organization's settings", 1)[1]
        first = [line.split("|")[1] for line in section.split("\n") if line.startswith("| `")]
        self.assertEqual({n for cell in first for n in re.findall(r"`(\w+)`", cell)}, camel)


if __name__ == "__main__":
    unittest.main()
