# SPDX-License-Identifier: Apache-2.0
"""tools/requirements finds what a test cites, and nothing else."""
import importlib.machinery
import importlib.util
import os
import unittest

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tools", "requirements")
loader = importlib.machinery.SourceFileLoader("requirements", PATH)
tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("requirements", loader))
loader.exec_module(tool)

C = """/* SPDX-License-Identifier: Apache-2.0 */
/* PA-1 at the top counts for nothing. */

/* AP-1: a helper's comment. */
static bool
inner(int x)
{
	return x; /* AP-2 */
}

static bool
outer(int x)
{
	return inner(x);
}

static void
on_the_line(void **state) /* ID-3, ID-4 */
{
	body();
}

/* TL-2 above it */
static void
above_and_inside(void **state)
{
	body(); /* TL-3 */
}

static void
by_helper(void **state)
{
	assert_true(outer(1));
}

/* --- a heading (AU-1) --- */

static void
under_a_heading(void **state)
{
	body();
}

static void
also_under_it(void **state)
{
	body();
}
"""

JS = """// SPDX-License-Identifier: Apache-2.0
// PA-1 at the top counts for nothing.
test('ID-1 in the name', async () => {
	body(); // ID-2
});

// TL-1: above it
test("says 'it' too", async () => {});
"""


class Requirements(unittest.TestCase):
    def test_ranges_and_lists_are_read(self):
        self.assertEqual(tool.cited("ID-2 to ID-4, PA-9"), {"ID-2", "ID-3", "ID-4", "PA-9"})
        self.assertEqual(tool.cited("AU-1 ... AU-3"), {"AU-1", "AU-2", "AU-3"})

    def test_what_is_no_requirement_is_not_read(self):
        self.assertEqual(tool.cited("ID-99, XPA-1, UUID-1, SHA-256"), set())

    def test_c_tests_cite_on_above_inside_and_by_their_helpers(self):
        self.assertEqual(dict(tool.tests_of_c(C)), {
            "on_the_line": {"ID-3", "ID-4"},
            "above_and_inside": {"TL-2", "TL-3"},
            "by_helper": {"AP-1", "AP-2"},
            "under_a_heading": {"AU-1"},
            "also_under_it": {"AU-1"},
        })

    def test_javascript_tests_cite_in_name_body_and_above(self):
        self.assertEqual(dict(tool.tests_of_js(JS)), {"ID-1 in the name": {"ID-1", "ID-2"}, "says 'it' too": {"TL-1"}})

    def test_every_complaint_is_made(self):
        proofs = {i: {"tests/x.c": ["t"]} for i in tool.IDS}
        gap, filled = tool.IDS[0], tool.IDS[1]
        proofs[gap] = {}
        old, tool.GAPS = tool.GAPS, {filled: "a reason"}
        try:
            said = "\n".join(tool.complaints(proofs, "another page"))
        finally:
            tool.GAPS = old
        self.assertIn(gap + " has no test", said)
        self.assertIn(filled + " has a test now", said)
        self.assertIn("out of date", said)


if __name__ == "__main__":
    unittest.main()
