#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tools/sqlgen makes of .sql files, and what it refuses. Run: python3 tests/unit/tools/test_sqlgen.py"""

import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tools", "sqlgen")
loader = importlib.machinery.SourceFileLoader("sqlgen", TOOL)
sqlgen = importlib.util.module_from_spec(importlib.util.spec_from_loader("sqlgen", loader))
loader.exec_module(sqlgen)

MIGRATION = "-- min_compatible: 1\n"


def statements(text):
    return sqlgen.parse_statements("src/core/note.sql", text)


def one(text):
    found = statements("-- name: note_x\n" + text)
    assert len(found) == 1
    return found[0]


def migration(text, name="0001_note.sql"):
    return sqlgen.Migration(name, MIGRATION + text)


class Refusals(unittest.TestCase):
    def refused(self, make, where, words):
        with self.assertRaises(sqlgen.Wrong) as caught:
            make()
        self.assertIn(where, str(caught.exception))
        self.assertIn(words, str(caught.exception))

    def refused_text(self, text, words, line=2):
        self.refused(lambda: one(text), f"src/core/note.sql:{line}: ", words)


class Statements(Refusals):
    def test_parameters_are_rewritten_for_sqlite_only(self):
        s = one("SELECT id FROM note WHERE a = $2 AND b = $1 AND c = $2")
        self.assertEqual(s.params, 2)
        self.assertEqual(s.of["sqlite"].text_for("sqlite"), "SELECT id FROM note WHERE a = ?2 AND b = ?1 AND c = ?2")
        self.assertEqual(s.of["postgres"].text_for("postgres"), "SELECT id FROM note WHERE a = $2 AND b = $1 AND c = $2")

    def test_what_stands_in_quotes_is_left_alone(self):
        s = one("""SELECT '$9 :: -- ; *', "select" FROM note WHERE a = $1""")
        self.assertEqual(s.params, 1)
        self.assertIn("""'$9 :: -- ; *', "select" """, s.of["sqlite"].text_for("sqlite"))

    def test_comments_and_line_breaks_go_but_words_stay_apart(self):
        s = one("SELECT id -- the $7 key\n/* all\n of it */FROM note;\n")
        self.assertEqual(s.of["postgres"].text_for("postgres"), "SELECT id FROM note")
        self.assertEqual((s.params, s.columns, s.writes), (0, 1, False))


    def test_columns_are_counted_at_the_top_level(self):
        for text, columns in [
            ("SELECT a, b, c FROM note", 3),
            ("SELECT count(*), max(a, b) FROM note", 2),
            ("SELECT DISTINCT a, (SELECT x FROM other LIMIT 1), CASE WHEN a THEN 1 ELSE 2 END FROM note", 3),
            ("SELECT 1", 1),
            ("SELECT a * b FROM note", 1),
            ("SELECT a FROM note UNION ALL SELECT b FROM other", 1),
            ("WITH w AS (SELECT a, b, c FROM note) SELECT a, b FROM w", 2),
            ("INSERT INTO note (a, b) VALUES ($1, $2)", 0),
            ("INSERT INTO note (a, b) SELECT x, y FROM other", 0),
            ("INSERT INTO note (a) VALUES ($1) RETURNING id, a", 2),
            ("UPDATE note SET a = $1 WHERE b IN (SELECT b FROM other) RETURNING id", 1),
            ("DELETE FROM note WHERE a = $1", 0),
        ]:
            with self.subTest(text):
                self.assertEqual(one(text).columns, columns)

    def test_columns_that_cannot_be_seen_must_be_said(self):
        self.refused_text("VALUES (1, 2)", "-- columns: N", line=1)
        self.assertEqual(one("-- columns: 2\nVALUES (1, 2)").columns, 2)
        self.refused_text("-- columns: 3\nSELECT a, b FROM note", "says 3 columns, but has 2", line=1)
        self.refused_text("-- columns: two\nVALUES (1, 2)", "takes a number")

    def test_what_writes_is_known(self):
        self.assertFalse(one("SELECT a FROM note").writes)
        self.assertTrue(one("WITH w AS (SELECT 1 AS a) UPDATE note SET b = 1 WHERE a IN (SELECT a FROM w)").writes)
        self.assertTrue(one("SELECT a FROM note FOR UPDATE SKIP LOCKED").writes)
        s = statements("-- name: note_l sqlite\nSELECT a FROM note\n-- name: note_l postgres\nSELECT a FROM note FOR SHARE\n")[0]
        self.assertTrue(s.writes)

    def test_an_engine_may_have_its_own_text(self):
        s = statements("-- name: note_a\nSELECT a FROM note\n-- name: note_a postgres\nSELECT b FROM note\n")[0]
        self.assertEqual(s.of["sqlite"].text_for("sqlite"), "SELECT a FROM note")
        self.assertEqual(s.of["postgres"].text_for("postgres"), "SELECT b FROM note")

    def test_engines_must_agree_about_parameters_and_columns(self):
        base = "-- name: note_a\nSELECT a FROM note WHERE a = $1\n-- name: note_a postgres\n"
        self.refused(lambda: statements(base + "SELECT a FROM note"), ":3: ", "takes 0 parameters, but 1 on SQLite")
        self.refused(lambda: statements(base + "SELECT a, b FROM note WHERE a = $1"), ":3: ", "gives 2 columns, but 1")

    def test_every_engine_needs_a_text_and_every_text_an_engine(self):
        self.refused(lambda: statements("-- name: note_a postgres\nSELECT 1"), ":1: ", "no text for sqlite")
        both = "-- name: note_a\nSELECT 1\n-- name: note_a sqlite\nSELECT 1\n-- name: note_a postgres\nSELECT 1"
        self.refused(lambda: statements(both), ":1: ", "used by no engine")

    def test_types_and_collations_become_sqlites(self):
        s = one('SELECT CAST(a AS bigint), CAST(b AS BYTEA) FROM note ORDER BY c COLLATE "C"')
        self.assertEqual(s.of["sqlite"].text_for("sqlite"), "SELECT CAST(a AS INTEGER), CAST(b AS BLOB) FROM note ORDER BY c COLLATE BINARY")
        self.assertIn('COLLATE "C"', s.of["postgres"].text_for("postgres"))

    def test_what_is_not_portable_or_careless_is_refused_with_its_line(self):
        self.refused_text("SELECT a::text FROM note", ":: is PostgreSQL only")
        self.refused_text("SELECT a\nFROM note WHERE b = a::text", ":: is PostgreSQL only", line=3)
        self.refused_text("SELECT * FROM note", "name the columns")
        self.refused_text("SELECT n.* FROM note n", "name the columns")
        self.refused_text("SELECT a, * FROM note", "name the columns")
        self.refused_text("SELECT 1 WHERE EXISTS (SELECT * FROM note)", "name the columns")
        self.refused_text("DELETE FROM note RETURNING *", "name the columns")
        self.refused_text("SELECT a FROM note WHERE a = ?", "written $1")
        self.refused_text("SELECT 1; DELETE FROM note", "one statement")
        self.refused_text("WITH w AS (DELETE FROM note RETURNING a) SELECT a FROM w", "cannot write inside WITH")
        self.refused_text("SELECT 'open FROM note", "never closed")

    def test_parameters_have_no_gaps_and_a_limit(self):
        self.refused_text("SELECT a FROM note WHERE a = $1 AND b = $3", "uses $3 but not $2", line=1)
        self.refused_text("SELECT a FROM note WHERE a = $0", "begin at $1")
        many = ", ".join(f"${n}" for n in range(1, 50))
        self.refused_text(f"SELECT a FROM note WHERE a IN ({many})", "the limit is 48", line=1)
        self.assertEqual(one(f"SELECT a FROM note WHERE a IN ({many[: -len(', $49')]})").params, 48)

    def test_only_data_is_handled_in_statements(self):
        for text in ["CREATE TABLE t (a BIGINT)", "BEGIN", "COMMIT", "SAVEPOINT s", "PRAGMA user_version", "DROP TABLE note"]:
            self.refused_text(text, "does not belong here", line=1)
        self.refused_text("EXPLAIN ANALYZE", "has no SELECT", line=1)
        self.refused_text("-- nothing", "has no text", line=1)

    def test_names_belong_to_their_file_and_are_unique(self):
        self.refused(lambda: statements("-- name: other_get\nSELECT 1"), ":1: ", "must begin with note_")
        self.refused(lambda: statements("-- name: note_Get\nSELECT 1"), ":1: ", "not a name")
        self.refused(lambda: statements("-- name: note_a mysql\nSELECT 1"), ":1: ", "no engine")
        self.refused(lambda: statements("-- name: note_a\nSELECT 1\n\n-- name: note_a\nSELECT 2"), ":4: ", "already in line 1")
        self.refused(lambda: statements("SELECT 1"), ":1: ", "before the first")


class Migrations(Refusals):
    def test_tables_become_strict_for_sqlite_only(self):
        m = migration("CREATE TABLE note (id BIGINT PRIMARY KEY, b BYTEA);\nCREATE TABLE w (k TEXT PRIMARY KEY) WITHOUT ROWID;")
        self.assertEqual(
            sqlgen.joined(m.tokens["sqlite"]),
            "CREATE TABLE note (id INTEGER PRIMARY KEY, b BLOB) STRICT; CREATE TABLE w (k TEXT PRIMARY KEY) WITHOUT ROWID, STRICT;",
        )
        self.assertNotIn("STRICT", sqlgen.joined(m.tokens["postgres"]))

    def test_a_part_may_be_for_one_engine(self):
        m = migration("CREATE TABLE a (x BIGINT);\n-- engine: sqlite\nCREATE TRIGGER t BEFORE DELETE ON a BEGIN SELECT 1; END;\n-- engine: postgres\nCREATE FUNCTION f() RETURNS trigger AS $$ BEGIN RETURN x::bigint; END $$ LANGUAGE plpgsql;\n-- engine: both\nCREATE INDEX i ON a (x);")
        self.assertIn("TRIGGER", sqlgen.joined(m.tokens["sqlite"]))
        self.assertNotIn("plpgsql", sqlgen.joined(m.tokens["sqlite"]))
        self.assertIn("$$ BEGIN RETURN x::bigint; END $$", sqlgen.joined(m.tokens["postgres"]))
        for engine in sqlgen.ENGINES:
            self.assertTrue(sqlgen.joined(m.tokens[engine]).endswith("CREATE INDEX i ON a (x);"))

    def test_what_a_migration_must_not_say(self):
        for text, words in [
            ("BEGIN; SELECT 1; COMMIT;", "one transaction already"),
            ("CREATE TABLE a (x INTEGER);", "not the same on both"),
            ("CREATE TABLE a (x BIGINT)", "does not end with ;"),
            ("UPDATE a SET x = $1;", "no parameters"),
            ("CREATE TABLE a (x BIGINT) AS SELECT 1;", "must end with its column list"),
            ("UPDATE a SET x = y::bigint;", ":: is PostgreSQL only"),
            ("-- engine: oracle\nSELECT 1;", "no engine"),
            ("-- engine: sqlite\nSELECT 1;", "no text for postgres"),
        ]:
            with self.subTest(text):
                self.refused(lambda: migration(text), "0001_note.sql:", words)

    def test_min_compatible_is_said_and_possible(self):
        self.refused(lambda: sqlgen.Migration("0001_a.sql", "SELECT 1;"), "0001_a.sql:1", "no `-- min_compatible")
        self.refused(lambda: sqlgen.Migration("0001_a.sql", "-- min_compatible: 2\nSELECT 1;"), ":1", "not between")
        self.refused(lambda: sqlgen.Migration("0001_a.sql", "-- min_compatible: x\nSELECT 1;"), ":1", "takes a number")

    def test_numbers_follow_each_other_and_min_compatible_never_falls(self):
        a = sqlgen.Migration("0001_a.sql", "-- min_compatible: 1\nSELECT 1;")
        b = sqlgen.Migration("0002_b.sql", "-- min_compatible: 2\nSELECT 1;")
        c = sqlgen.Migration("0003_c.sql", "-- min_compatible: 1\nSELECT 1;")
        sqlgen.check_sequence([a, b])
        self.refused(lambda: sqlgen.check_sequence([a, c]), "0003_c.sql:1", "0002 is next")
        self.refused(lambda: sqlgen.check_sequence([a, b, c]), "0003_c.sql:1", "below that of 0002")


class Tenants(Refusals):
    TABLES = "CREATE TABLE note (org_id BIGINT, id BIGINT, PRIMARY KEY (org_id, id)); CREATE TABLE town (id BIGINT);"

    def check(self, text, tables=TABLES):
        one(text).check_tenant(sqlgen.tenant_tables([migration(tables)]))

    def test_a_tenant_tables_statement_names_the_organization(self):
        self.check("SELECT id FROM note WHERE org_id = $1")
        self.check("SELECT id FROM town")
        self.refused(lambda: self.check("SELECT id\nFROM note WHERE id = $1"), "note.sql:3", "org_id is not mentioned")
        self.refused(lambda: self.check("SELECT t.id FROM town t JOIN Note n ON n.id = t.id"), "note.sql:2", "note belongs")

    def test_a_mention_in_a_comment_or_a_string_is_none(self):
        self.refused(lambda: self.check("SELECT id FROM note -- org_id\nWHERE a = 'org_id'"), "note.sql:2", "org_id")

    def test_a_column_added_later_counts(self):
        tables = "CREATE TABLE late (id BIGINT); ALTER TABLE late ADD COLUMN org_id BIGINT;"
        self.refused(lambda: self.check("SELECT id FROM late", tables), "note.sql:2", "late belongs")
        self.assertEqual(sqlgen.tenant_tables([migration("CREATE TABLE x (a TEXT DEFAULT 'org_id', b BIGINT REFERENCES y (org_id));")]), set())

    def test_each_engines_text_is_looked_at(self):
        s = statements("-- name: note_a\nSELECT id FROM note WHERE org_id = $1\n-- name: note_a postgres\nSELECT id FROM note WHERE id = $1\n")[0]
        self.refused(lambda: s.check_tenant({"note"}), "note.sql:4", "org_id is not mentioned")


class Program(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def file(self, name, text):
        path = os.path.join(self.dir.name, name)
        with open(path, "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        return path

    def run_tool(self, *args):
        return subprocess.run([sys.executable, TOOL, *args], capture_output=True, text=True, check=False)

    def test_the_tables_compile(self):
        note = self.file("note.sql", '-- name: note_get\nSELECT "id", \'\\ ö\' FROM note WHERE id = $1\n')
        more = self.file("more.sql", "-- name: more_add\nINSERT INTO note (id) VALUES ($1)\n")
        first = self.file("0001_note.sql", MIGRATION + "CREATE TABLE note (id BIGINT);")
        out = os.path.join(self.dir.name, "sql_all.c")
        self.assertEqual(self.run_tool("tables", "--out", out, note, more, first).stderr, "")
        src = os.path.join(os.path.dirname(TOOL), "..", "src")
        compiled = subprocess.run(["cc", "-std=gnu17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", src, out], capture_output=True, text=True, check=False)
        self.assertEqual(compiled.stderr, "")
        with open(out, encoding="utf-8") as f:
            text = f.read()
        self.assertIn(r"""SELECT \"id\", '\\ \303\266' FROM note WHERE id = ?1""", text)
        self.assertIn("&sql_note_get, &sql_more_add,", text)

    def test_tests_extend_a_table(self):
        note = self.file("note.sql", "-- name: note_get\nSELECT 1\n")
        more = self.file("more.sql", "-- name: more_get\nSELECT 2\n")
        out = os.path.join(self.dir.name, "more.c")
        self.assertEqual(self.run_tool("tables", "--prefix", "test", "--extends", note, "--out", out, more).returncode, 0)
        with open(out, encoding="utf-8") as f:
            text = f.read()
        self.assertIn("test_sql_all[] = { &sql_note_get, &sql_more_get, NULL }", text)
        self.assertIn('.name = "more_get", .index = 1', text)
        self.assertNotIn('"note_get"', text)

    def test_the_header_declares_a_macro_for_each_statement(self):
        note = self.file("note.sql", "-- name: note_get\nSELECT a, b FROM note WHERE a = $1\n")
        out = os.path.join(self.dir.name, "note.sql.h")
        self.assertEqual(self.run_tool("header", note, out).returncode, 0)
        with open(out, encoding="utf-8") as f:
            self.assertIn("#define SQL_NOTE_GET (&sql_note_get)", f.read())

    def test_a_refusal_is_one_line_and_writes_nothing(self):
        out = os.path.join(self.dir.name, "out.c")
        nul = self.file("nul.sql", b"-- name: nul_a\nSELECT 'a\0b'\n")
        raw = self.file("raw.sql", b"-- name: raw_a\n\nSELECT '\xff'\n")
        a = self.file("a.sql", "-- name: a_b_c\nSELECT 1\n")
        b = self.file("a_b.sql", "-- name: a_b_c\nSELECT 1\n")
        for files, words in [
            ([nul], "nul.sql:2: U+0000"),
            ([raw], "raw.sql:3: not UTF-8"),
            ([a, b], "a_b.sql:1: a_b_c: is already in"),
            (["/nowhere.sql"], "No such file"),
        ]:
            ran = self.run_tool("tables", "--out", out, *files)
            self.assertEqual(ran.returncode, 1)
            self.assertIn(words, ran.stderr)
            self.assertEqual(ran.stderr.count("\n"), 1)
            self.assertFalse(os.path.exists(out))


if __name__ == "__main__":
    unittest.main()
