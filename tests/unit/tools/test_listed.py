# SPDX-License-Identifier: Apache-2.0
"""What has to be listed somewhere to be run is listed: C tests and fuzzers in meson.build, rigs in ./test. A gate that looked at nothing fails."""
import glob
import os
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def names(pattern):
    return sorted(os.path.basename(path) for path in glob.glob(os.path.join(ROOT, pattern)))


class Listed(unittest.TestCase):
    def test_every_c_file_of_a_room_is_built(self):
        rooms = [room for room in names("tests/unit/*") if names("tests/unit/%s/*.c" % room)]
        self.assertGreater(len(rooms), 5)
        for room in rooms:
            listed = read("tests/unit/%s/meson.build" % room)
            loop = re.search(r"foreach name : \[([^]]*)\]\n  unit_tests", listed)
            named = re.findall(r"'(\w+\.c)'", listed) + [name + ".c" for name in re.findall(r"'(\w+)'", loop.group(1) if loop else "")]
            self.assertEqual([name for name in names("tests/unit/%s/*.c" % room) if name not in named], [], room)

    def test_every_room_is_listed(self):
        listed = re.search(r"foreach room : \[([^]]*)\]", read("tests/unit/meson.build")).group(1)
        rooms = [room for room in names("tests/unit/*") if names("tests/unit/%s/*.c" % room)]
        self.assertEqual(sorted(re.findall(r"'(\w+)'", listed)), rooms)

    def test_every_fuzzer_is_built_and_has_seeds(self):
        listed = re.search(r"foreach name : \[([^]]*)\]", read("tests/fuzz/meson.build")).group(1)
        fuzzers = [name[:-2] for name in names("tests/fuzz/*.c")]
        self.assertEqual(sorted(re.findall(r"'(\w+)'", listed)), fuzzers)
        for name in fuzzers:
            self.assertTrue(names("tests/fuzz/corpus/%s/*" % name), name)

    def test_every_rig_is_run(self):
        rigs = [name[len("run-"):] for name in names("tests/fault/run-*")]
        self.assertGreater(len(rigs), 5)
        lines = " ".join(line for line in read("test").split("\n") if "fault" in line)
        self.assertEqual([rig for rig in rigs if not re.search(r"\b%s\b" % rig, lines)], [])

    def test_every_file_of_node_tests_is_in_a_folder_that_is_run(self):
        found = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", "*.test.mjs"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
        self.assertGreater(len(found), 50)
        script = read("test")
        for folder in {os.path.dirname(path) for path in found}:
            self.assertRegex(script, r"%s/\S*\.test\.mjs" % folder, folder)


class Gates(unittest.TestCase):
    def gate(self, name):
        """How a gate ends in a tree without sources."""
        with tempfile.TemporaryDirectory() as tree:
            os.makedirs(os.path.join(tree, "tools"))
            os.makedirs(os.path.join(tree, "src"))
            shutil.copy(os.path.join(ROOT, "tools", name), os.path.join(tree, "tools", name))
            subprocess.run(["git", "init", "-q", tree], check=True)
            return subprocess.run([os.path.join(tree, "tools", name)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)

    def test_a_gate_that_looked_at_nothing_fails(self):
        for name in ("layers", "checksrc"):
            ended = self.gate(name)
            self.assertEqual(ended.returncode, 1, ended.stdout)
            self.assertIn("no source was looked at", ended.stdout)


if __name__ == "__main__":
    unittest.main()
