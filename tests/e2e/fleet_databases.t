#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump table in PostgreSQL and ClickHouse: each has the rows of `table`, hostile ones too, once however often they are loaded, and
# answers the questions of docs/fleet.md. Skipped where a server is not installed: make check-databases installs them.
# PTL_UPDATE=1 writes the answers into that page.
import datetime
import functools
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from database_test import ClickHouse, Missing, Postgres, Refused
from scratch_test import DUMP, RECORD, check, output, path, plan, run, scratch, skip, write

PAGE = os.path.join(os.path.dirname(os.environ["PTL_TESTDATA"]), "docs", "fleet.md")
TABLES = ("traces", "processes", "threads", "images", "events", "calls", "gaps", "losses", "profile", "coverage")
HOSTILE = b"\\N\ta\nb\\.\n\\c\"d'e`,f;--\\g\x01\xff\xc0\x80\xe2\x80\xae\r\\"
PROGRAM = """#include <dlfcn.h>
#include <stdlib.h>
static volatile int sum;
__attribute__((noinline)) void parse(int n) { for (int i = 0; i < n * WORK; i++) sum += i; }
#ifdef CHECK
__attribute__((noinline)) void check(int n) { sum += n; }
#else
#define check(n)
#endif
void unused(void)
{
	sum = 0;
}
int main(int argc, char **argv)
{
	void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	for (int i = 0; i < 10; i++)
		parse(i);
	check(sum);
	if (plugin)
		((void (*)(void))dlsym(plugin, "plugin_run"))();
	if (argc > 2)
		exit(atoi(argv[2]));
	return 0;
}
"""
PLUGIN = "volatile int runs;\nvoid plugin_run(void)\n{\n\truns++;\n}\n"


def build(name, *flags):
    os.makedirs(path(name), exist_ok=True)
    output("gcc", "-g", "-O1", "-Wl,--build-id", *flags, "-o", f"{name}/parser", "parser.c")
    return os.path.join(name, "parser")


def record(name, *command, options=()):
    got = run(RECORD, "-q", *options, "-o", name, "--", *command)
    if not os.path.exists(path(name)):
        raise Refused(got.stderr)


def make_fleet():
    """(labels, traces) of each job."""
    write("parser.c", PROGRAM)
    write("plugin.c", PLUGIN)
    output("gcc", "-g", "-shared", "-fPIC", "-Wl,--build-id", "-o", "plugin.so", "plugin.c")
    plugin = path("plugin.so")
    record("a1.ptl", build("a1", "-DWORK=10"))
    record("b2.ptl", build("b2", "-DWORK=10", "-DCHECK"), plugin)
    program = build("c3", "-DWORK=40", "-DCHECK")
    record("c3.ptl", program, plugin, "3")
    record("cut.ptl", program)
    os.truncate(path("cut.ptl"), os.path.getsize(path("cut.ptl")) * 3 // 4)
    shutil.copy(path(program), path("gone"))
    record("nocode.ptl", path("gone"), options=["--embed=none"])
    os.unlink(path("gone"))
    return [(("commit=a1", "job=test"), ("a1.ptl",)), (("commit=b2", "job=test"), ("b2.ptl",)), (("commit=c3", "job=test"), ("c3.ptl",)),
            (("commit=c3", "job=nightly"), ("cut.ptl", "nocode.ptl"))]


@functools.lru_cache(maxsize=None)
def rows_of(table, form, labels, traces, *options):
    """A trace that was cut is read, and said to be so."""
    got = run(DUMP, "table", table, "--format", form, *options, *(word for label in labels for word in ("--label", label)), *traces,
              text=False)
    if got.returncode != (3 if "cut.ptl" in traces else 0):
        raise Refused(got.stderr.decode(errors="replace"))
    return got.stdout


class OfPostgres:
    name = "PostgreSQL"
    place = 0  # of its statements in the page
    final = ""

    def __init__(self):
        self.server = Postgres()
        got = self.server.script(output(DUMP, "table", "--ddl", "postgresql").encode())
        check("PostgreSQL takes the tables", got.returncode == 0 and not got.stderr, got)

    def load(self, table, labels, traces, *options):
        got = self.server.script(rows_of(table, "postgresql", labels, traces, *options))
        if got.returncode:
            raise Refused(got.stderr.decode(errors="replace"))

    @staticmethod
    def same(column, mine, theirs):
        if column in ("started", "wall_time") and mine and theirs:
            return abs(nanoseconds(mine) - nanoseconds(theirs)) <= 500
        return {"t": "1", "f": "0"}.get(theirs, theirs) == mine


class OfClickHouse:
    name = "ClickHouse"
    place = 1
    final = " FINAL"

    def __init__(self):
        self.server = ClickHouse()
        for statement in output(DUMP, "table", "--ddl", "clickhouse").split(";\n"):
            if statement:
                self.server.send(statement)
        check("ClickHouse takes the tables", len(self.server.query("SHOW TABLES")) == len(TABLES))

    def load(self, table, labels, traces, *options):
        data = rows_of(table, "rowbinary", labels, traces, *options)
        if data:
            self.server.send(f"INSERT INTO {table} FORMAT RowBinary", data)

    @staticmethod
    def same(column, mine, theirs):
        if column in ("started", "wall_time") and mine and theirs:
            return nanoseconds(mine) == int(theirs)
        # It has the very bytes; TSV has U+FFFD for those that are no text.
        return theirs == mine or os.fsencode(theirs).decode("utf-8", "replace") == mine


def nanoseconds(text):
    """Of "2026-11-21 08:30:00.123456789" in UTC."""
    seconds, _, part = text.partition(".")
    whole = datetime.datetime.strptime(seconds + "+0000", "%Y-%m-%d %H:%M:%S%z").timestamp()
    return int(whole) * 10**9 + int(part.ljust(9, "0"))


def tsv(table, labels, traces):
    head, *rows = rows_of(table, "tsv", labels, traces).decode().split("\n")[:-1]
    plain = {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}
    return head.split("\t"), [[None if cell == "\\N" else re.sub(r"\\(.)", lambda m: plain[m[1]], cell) for cell in row.split("\t")]
                              for row in rows]


def has_rows(database, table, labels, traces):
    """The rows of these traces, in their order."""
    columns, wanted = tsv(table, labels, traces)
    keys = sorted({row[0] for row in wanted})
    where = " OR ".join(f"trace = '{key}'" for key in keys) or "1 = 0"
    found = database.server.query("SELECT %s FROM %s%s WHERE %s ORDER BY trace, row_number" %
                                  (", ".join(f'"{column}"' for column in columns), table, database.final, where))
    wanted.sort(key=lambda row: (row[0], int(row[7])))
    wrong = [(column, mine, theirs) for row, other in zip(wanted, found) for column, mine, theirs in zip(columns, row, other)
             if not database.same(column, mine, theirs)]
    check(f"{database.name}: {table} of {' '.join(traces)}: the rows of `table`, once", len(found) == len(wanted) and not wrong,
          len(found), len(wanted), wrong[:3])
    return wanted


def hostile(database):
    """Loaded twice, as all."""
    labels = ("commit=\\N", "job=" + os.fsdecode(HOSTILE))
    for table in ("processes", "images", "events", "profile"):
        for _ in range(2):
            database.load(table, labels, ("hostile.ptl",))
        rows = has_rows(database, table, labels, ("hostile.ptl",))
        # The kernel itself writes a newline as \012 where it lists mappings.
        check(f"{database.name}: {table}: there are hostile rows", any("\\N\ta" in (cell or "") for row in rows for cell in row[8:]) or
              table == "profile", rows[:1])
    if database.place:
        found = database.server.query("SELECT name FROM processes FINAL WHERE position(name, '\\n') > 0")
        check("ClickHouse has the very bytes of a hostile name", [os.fsencode(cell) for row in found for cell in row] == [HOSTILE], found)


def questions():
    """(title, statements, answer) of the page."""
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    found = []
    for section in re.split(r"^### ", text, flags=re.M)[1:]:
        found.append((section.split("\n", 1)[0], re.findall(r"^```sql\n(.*?)^```", section, re.M | re.S),
                      re.search(r"^```text\n(.*?)^```", section, re.M | re.S)[1]))
    return text, found


def ask(databases):
    """The rows of each answer, by the first words of the question."""
    answers, (text, found) = {}, questions()
    check("docs/fleet.md has six questions, for both", len(found) == 6 and all(len(one[1]) == 2 for one in found))
    for title, statements, shown in found:
        got = [database.server.query(statements[database.place], head=True) for database in databases]
        for database, rows in zip(databases, got):
            names = [one.strip() for one in shown.split("\n")[0].split("|")]
            # The page shows PostgreSQL's names of columns.
            named = rows[0] == names if database.place == 0 else len(rows[0]) == len(names)
            check(f"{database.name}: {title}", len(rows) > 1 and rows[1:] == got[0][1:] and (named or os.environ.get("PTL_UPDATE")),
                  rows, got[0], shown)
        answers[title] = got[0][1:]
        if databases[0].place == 0:
            lines = databases[0].server.shown(f"\\pset footer off\n{statements[0]}").rstrip("\n")
            lines = "\n".join(line.rstrip() for line in lines.split("\n")) + "\n"
            text = text.replace(f"```text\n{shown}```", f"```text\n{lines}```", 1) if shown else text.replace("```text\n```", f"```text\n{lines}```", 1)
    if os.environ.get("PTL_UPDATE"):
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(text)
    return answers


def answers_are_right(answers):
    commits, plugin, missing, failed, new, lines = answers.values()
    change = [int(row[3]) for row in commits]
    check("the commit that made it slower is found", [row[0] for row in commits] == ["a1", "b2", "c3"] and abs(change[1]) < 20 and
          change[2] > 500, commits)
    check("the builds that executed the plugin are found", [row[:2] for row in plugin] == [["b2", "parser"], ["c3", "parser"]], plugin)
    check("incomplete artifacts are found", {row[0] for row in missing} == {"cut.ptl", "nocode.ptl"}, missing)
    check("the process that failed is found", failed == [["c3", "test", "parser", "3", "0"]], failed)
    check("the new function is found", ["b2", "check"] in new and all(row[0] != "a1" for row in new), new)
    check("lines that no job executes are lines", all(row[0] in ("parser.c", "plugin.c") for row in lines), lines)


def interrupted(database, fleet):
    """PostgreSQL: what is cut off, or fails, leaves what was there; other options replace it."""
    labels, traces = fleet[2]
    data = rows_of("profile", "postgresql", labels, traces)
    before = database.server.query("SELECT count(*) FROM profile")
    database.server.script(data[:len(data) * 2 // 3])
    check("PostgreSQL: a load that is cut off leaves what was there", database.server.query("SELECT count(*) FROM profile") == before)
    got = database.server.script(data.replace(b"\tparse\t", b"\tparse\t\t"))
    check("PostgreSQL: a row that is refused leaves what was there", got.returncode != 0 and
          database.server.query("SELECT count(*) FROM profile") == before, got)
    database.load("profile", labels, traces, "--image", "parser")
    rows = database.server.query("SELECT DISTINCT image FROM profile WHERE file = 'c3.ptl'")
    check("PostgreSQL: other rows take their place", rows and all(row[0].endswith("/parser") for row in rows), rows)
    days = database.server.query("SELECT count(*) FROM pg_inherits WHERE inhparent = 'profile'::regclass")
    check("PostgreSQL: a day is a partition", int(days[0][0]) >= 2 and
          database.server.query("SELECT count(*) FROM profile_undated") == [["0"]], days)


def start():
    databases = []
    for one in (OfPostgres, OfClickHouse):
        try:
            databases.append(one())
        except Missing as why:
            if os.environ.get("PTL_DATABASES"):
                check(f"{one.name} is there", False, why)
            else:
                skip(one.name, why)
    return databases


DATABASES = start()
if DATABASES:
    FLEET = make_fleet()
    shutil.copy(os.path.join(os.environ["PTL_PROGRAMS"], "bare"), os.path.join(os.fsencode(scratch), HOSTILE))
    record("hostile.ptl", os.path.join(os.fsencode(scratch), HOSTILE))
    for used in DATABASES:
        for kind in TABLES:
            for job in FLEET if kind not in ("threads", "events") else FLEET[2:3]:
                used.load(kind, *job)
            used.load(kind, *FLEET[2])
            has_rows(used, kind, *FLEET[2])
    answers_are_right(ask(DATABASES))
    for used in DATABASES:
        hostile(used)
        if used.place == 0:
            interrupted(used, FLEET)
plan()
