# SPDX-License-Identifier: Apache-2.0
"""./test fails where nothing was tested: its functions step, suite, count and check_secrets, run on made-up logs."""
import os
import re
import subprocess
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
FUNCTIONS = ["count", "failures", "step", "suite", "run_step", "skipped", "say", "check_secrets"]


def functions():
    """The text of the functions in ./test, which would do all of its work if it were sourced."""
    with open(os.path.join(ROOT, "test"), encoding="utf-8") as f:
        script = f.read()
    found = [re.search(r"^%s\(\) \{(?:[^\n]*\}$|.*?^\}$)" % name, script, re.M | re.S) for name in FUNCTIONS]
    assert all(found), "./test lacks one of: %s" % ", ".join(FUNCTIONS)
    return "\n".join(f.group() for f in found)


class Rig(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.out = self.folder.name
        os.mkdir(os.path.join(self.out, "logs"))

    def tearDown(self):
        self.folder.cleanup()

    def bash(self, text):
        prelude = "set -euo pipefail\nroot=%s out=%s results=%s/results\n%s\n" % (self.out, self.out, self.out, functions())
        return subprocess.run(["bash", "-c", prelude + text], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


class Steps(Rig):
    def result(self, kind, log, code=0):
        """(passed, failed, what is printed) of a step or suite whose command prints this and ends with this code."""
        with open(os.path.join(self.out, "said"), "w", encoding="utf-8") as f:
            f.write(log)
        ended = self.bash('command() { cat "$out/said"; return %d; }\n%s a-name command' % (code, kind))
        self.assertEqual(ended.returncode, 0, ended.stdout)
        with open(os.path.join(self.out, "results"), encoding="utf-8") as f:
            passed, failed = f.read().split("\n")[-2].split()
        return int(passed), int(failed), ended.stdout

    def counts(self, kind, log, code=0):
        return self.result(kind, log, code)[:2]

    def test_a_check_passes_if_its_command_does(self):
        self.assertEqual(self.counts("step", ""), (1, 0))
        self.assertEqual(self.counts("step", "", 1), (0, 1))

    def test_a_suite_that_ran_nothing_fails(self):
        passed, failed, said = self.result("suite", "all is well\n")
        self.assertEqual((passed, failed), (0, 1))
        self.assertIn("no test ran", said)

    def test_a_suite_that_fails_without_a_count_fails(self):
        self.assertEqual(self.counts("suite", "Segmentation fault\n", 139), (0, 1))
        self.assertEqual(self.counts("suite", "# pass 3\n", 1), (3, 1))

    def test_the_counts_of_each_runner(self):
        for log, expected in [
            ("[  PASSED  ] 3 test(s).\n[  PASSED  ] 4 test(s).\n", (7, 0)),
            ("[  PASSED  ] 3 test(s).\n[  FAILED  ] 1 test(s), listed below:\n", (3, 1)),
            ("ok 1 - a name\n# pass 1\n# fail 2\n# cancelled 1\n", (1, 3)),
            ("Ran 5 tests in 0.1s\n\nOK\n", (5, 0)),
            ("Ran 5 tests in 0.1s\n\nOK (skipped=2)\n", (3, 0)),
            ("Done 2000 runs in 16 second(s)\n", (1, 0)),
            ("12 passed, 1 failed\n", (12, 1)),
        ]:
            self.assertEqual(self.counts("suite", log), expected, log)

    def test_nothing_but_skipped_tests_is_nothing(self):
        for log in ["Ran 5 tests in 0.1s\n\nOK (skipped=5)\n", "Ran 0 tests in 0.0s\n\nOK\n",
                    "ok 1 - a # SKIP no engine\n# pass 0\n# fail 0\n# skipped 1\n",
                    "[  PASSED  ] 0 test(s).\n[  SKIPPED ] 2 test(s), listed below:\n",
                    "Done 0 runs in 0 second(s)\n", "0 passed, 0 failed\n"]:
            self.assertEqual(self.counts("suite", log), (0, 1), log)

    def test_a_file_without_tests_fails(self):
        """node:test counts it as one test that passed, named by its file."""
        passed, failed, said = self.result("suite", "ok 1 - /somewhere/tests/api/a.test.mjs\nok 2 - a name\n# pass 2\n")
        self.assertEqual((passed, failed), (1, 1))
        self.assertIn("no test ran in /somewhere/tests/api/a.test.mjs", said)

    def test_a_program_without_tests_fails_beside_others(self):
        log = ("1/2 countersign:unit / rule  OK               0.01s\n[  PASSED  ] 6 test(s).\n"
               "2/2 countersign:unit / event OK               0.01s\nstdout:\n")
        passed, failed, said = self.result("suite", log)
        self.assertEqual((passed, failed), (6, 1))
        self.assertIn("no test ran in event", said)
        self.assertEqual(self.counts("suite", log + "[  PASSED  ] 4 test(s).\n"), (10, 0))
        self.assertEqual(self.counts("suite", log + "[  PASSED  ] 0 test(s).\n[  SKIPPED ] 4 test(s), listed below:\n"), (6, 0))

    def test_what_was_skipped_is_said(self):
        said = self.result("suite", "ok 1 - a # SKIP no sandbox here\nok 2 - b # SKIP no sandbox here\nskipped: the other engine\n# pass 1\n")[2]
        self.assertIn("skipped: no sandbox here (2 times)", said)
        self.assertIn("skipped: the other engine", said)


class Secrets(Rig):
    def check(self):
        return self.bash("rc=0; check_secrets || rc=$?; exit $rc")

    def log(self, name, text):
        with open(os.path.join(self.out, "logs", name), "w", encoding="utf-8") as f:
            f.write(text)

    def test_clean_logs_pass(self):
        self.log("a.log", "nothing\n")
        self.log("secrets.log", "planted-in-its-own-log\n")
        self.assertEqual(self.check().returncode, 0, self.check().stdout)

    def test_a_planted_secret_is_found(self):
        self.log("a.log", "nothing\n")
        self.log("b.log", "\0 token=planted-abc\n")
        ended = self.check()
        self.assertEqual(ended.returncode, 1)
        self.assertIn("planted-abc", ended.stdout)

    def test_no_logs_are_no_proof(self):
        self.assertNotEqual(self.check().returncode, 0)
        self.log("secrets.log", "")
        self.assertNotEqual(self.check().returncode, 0)

    def test_a_search_that_fails_is_no_proof(self):
        self.log("a.log", "nothing\n")
        ended = self.bash("grep() { return 2; }\nrc=0; check_secrets || rc=$?; exit $rc")
        self.assertNotEqual(ended.returncode, 0)


if __name__ == "__main__":
    unittest.main()
