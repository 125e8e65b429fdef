#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Values of ptl-record --values in expressions about calls (calls --where, --calls, why --slow, ptl-relog --calls), in html and in gdb: the
# calls are those that the program's own log says.
import json
import re
import shutil

from scratch_test import DUMP, RECORD, RELOG, check, output, path, plan, run, skip, write

SOURCE = r"""
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
enum kind { CASH, CARD = 7 };
struct order { int id; enum kind kind; const char *name; };
__attribute__((noinline, noclone)) int rebate(struct order *o, int percent, double factor)
{
	/* The compiler leaves stores of members out that no function reads. */
	__asm__ volatile("" : : "r"(o) : "memory");
	for (volatile int i = 0; i < o->id * 20; i++)
		;
	return o->id % 2 ? -percent : (int)(percent * factor);
}
__attribute__((noinline, noclone)) int nested(int n)
{
	volatile int rest = n ? nested(n - 1) : 0;
	return rest + n;
}
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *argument)
{
	static const char *const names[] = {"Eve", "Bob Lee", "Zoe"};
	const int which = (int)(long)argument;
	for (int i = 0; i < 40; i++) {
		struct order o = {i, i % 3 ? CARD : CASH, names[i % 3]};
		const int percent = (i * 37 + which * 11) % 100, result = rebate(&o, percent, 0.5);
		pthread_mutex_lock(&mutex);
		printf("{\"tid\": %ld, \"id\": %d, \"kind\": \"%s\", \"name\": \"%s\", \"percent\": %d, \"result\": %d}\n",
		       (long)syscall(SYS_gettid), i, i % 3 ? "CARD" : "CASH", names[i % 3], percent, result);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}
int main(void)
{
	pthread_t threads[2];
	for (long i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return nested(5) - 15;
}
"""
write("orders.c", SOURCE)
compiler = shutil.which("gcc")
if not compiler or run(compiler, "-g", "-O2", "-pthread", "-o", "orders", "orders.c").returncode:
    skip("values of calls", "there is no gcc")
    plan()
    raise SystemExit
done = run(RECORD, "-f", "-o", "orders.ptl", "--source", "software", "--values", "rebate(o->id, o->kind, o->name, percent, factor, $return)",
           "--values", "nested(n, $return)", "--", path("orders"))
said = [json.loads(line) for line in done.stdout.splitlines()]
check("the program is recorded", done.returncode == 0 and len(said) == 80, done)


def calls(*options):
    return [json.loads(line) for line in output(DUMP, "calls", "-q", "--json", *options, "orders.ptl").splitlines()]


for expression, wanted in (("percent > 60", lambda row: row["percent"] > 60), ("$return < 0", lambda row: row["result"] < 0),
                           ("`o->kind` == CARD", lambda row: row["kind"] == "CARD"), ("`o->kind` == 0", lambda row: row["kind"] == "CASH"),
                           ("`o->name` == 'Bob Lee'", lambda row: row["name"] == "Bob Lee"), ("`o->name` ~ *o*", lambda row: "o" in row["name"]),
                           ("`o->id` + percent < 50", lambda row: row["id"] + row["percent"] < 50),
                           ("factor > 0.4 and percent <= 10 and `o->id` > 3", lambda row: row["percent"] <= 10 and row["id"] > 3),
                           ("not (percent > 60) and function == rebate", lambda row: row["percent"] <= 60)):
    want = sorted(row["tid"] for row in said if wanted(row))
    got = calls("-w", expression)
    check(f"calls -w {expression}: {len(want)} calls", sorted(row["tid"] for row in got) == want and want and
          all(row["function"] == "rebate" for row in got), len(want), got[:3])
    chosen = run(RELOG, "orders.ptl", "-q", "-f", "-o", "window.ptl", "--together", "--calls", f"rebate: {expression}") if "60" in expression else None
    if chosen:
        check(f"ptl-relog --calls: {expression}", chosen.returncode == 0, chosen)
        inside = [json.loads(line)["fields"] for line in
                  output(DUMP, "events", "--json", "-e", "PTL-Values/rebate", "window.ptl").splitlines()]
        check("the windows have the events of their calls", {(row["id"], row["percent"]) for row in said if wanted(row)} <=
              {(fields["o->id"], fields["percent"]) for fields in inside}, inside[:3])
slow = sorted((row for row in calls("-F", "rebate", "-w", "percent > 60")), key=lambda row: -row["duration"])
got = run(RELOG, "orders.ptl", "-f", "-o", "slow.ptl", "--calls", "rebate: percent > 60", "--slowest", "3")
check("ptl-relog --calls --slowest: among the calls with the value", got.returncode == 0 and len(re.findall(r"^ptl-relog: window \d", got.stderr, re.M))
      == 3, got)
for i in range(1, 4):
    fields = [json.loads(line)["fields"] for line in
              output(DUMP, "events", "--json", "-e", "PTL-Values/rebate", "-t", str(slow[i - 1]["tid"]), f"slow.{i}.ptl").splitlines()]
    check(f"window {i} is of the call that is the {i}. slowest", any(row["percent"] > 60 for row in fields), fields, slow[i - 1])
around = run(RELOG, "orders.ptl", "-q", "-f", "-o", "around.ptl", "--around", "`o->id` == 39 and percent > 0", "--before", "1us", "--after",
             "1us", "--together")
check("ptl-relog --around with values", around.returncode == 0, around)

# Each call of a recursion has its own values: an outer call begins earlier, ends later, and has more instructions.
by_argument = [calls("-w", f"n == {n}") for n in range(6)]
by_result = [calls("-w", f"$return == {n * (n + 1) // 2} and function == nested") for n in range(6)]
check("each call of a recursion has its own argument and its own result", all(len(rows) == 1 for rows in by_argument) and
      by_argument == by_result and all(a[0]["time"] > b[0]["time"] and a[0]["instructions"] < b[0]["instructions"]
                                       for a, b in zip(by_argument, by_argument[1:], strict=False)), by_argument, by_result)

wrong = run(DUMP, "calls", "-w", "percnt > 3", "orders.ptl")
check("an unknown name is a mistake", wrong.returncode == 2 and "there is no field 'percnt'" in wrong.stderr and not wrong.stdout, wrong)
events = output(DUMP, "events", "--json", "-w", "`o->kind` == CARD and percent > 60", "orders.ptl").splitlines()
check("events -w with a name in back quotes", len(events) == sum(row["kind"] == "CARD" and row["percent"] > 60 for row in said), len(events))
why = run(DUMP, "why", "rebate", "--slow", "`o->kind` == CASH", "orders.ptl")
count = sum(row["kind"] == "CASH" for row in said)
check("why --slow with a value", f"value PTL-Values/rebate o->kind=CASH in {count} of {count} slow calls, in 0 of {80 - count} others" in why.stdout,
      why)

# ---- html and gdb ----------------------------------------------------------------------------------------------------

run(DUMP, "html", "-o", "orders.html", "orders.ptl")
with open(path("orders.html"), encoding="utf-8") as file:
    page = file.read()
check("the page has each event's values", all(f"o->id={row['id']} o->kind={row['kind']} " in page and f" percent={row['percent']} " in page
                                               for row in said))
if shutil.which("gdb"):
    got = run(DUMP, "gdb", "--batch", "-x", "monitor events PTL-Values/rebate", "orders.ptl")
    lines = re.findall(r"PTL-Values/rebate  o->id=(\d+) o->kind=(\w+) .*percent=(\d+)", got.stdout + got.stderr)
    check("gdb lists the values", sorted(lines) == sorted((str(row["id"]), row["kind"], str(row["percent"])) for row in said), lines[:3], got)
else:
    skip("gdb lists the values", "there is no gdb")

# ---- names of values that are names of fields ------------------------------------------------------------------------

write("walk.c", r"""
#include <stdio.h>
__attribute__((noinline, noclone)) int walk(int depth, const char *path) { return printf("%d %s\n", depth, path); }
int main(void) { for (int i = 0; i < 5; i++) walk(i * 10, i % 2 ? "odd" : "even"); return 0; }
""")
output(compiler, "-g", "-O2", "-o", "walk", "walk.c")
output(RECORD, "-q", "-o", "walk.ptl", "--source", "software", "--values", "walk(depth, path)", "--", path("walk"))
for text, count in (("$value.depth == 30", 1), ("$value.depth >= 20 and `$value.path` == even", 2), ("$value.path == odd", 2), ("depth == 30", 0)):
    got = output(DUMP, "calls", "--json", "-w", text, "walk.ptl").splitlines()
    check(f"{text}: {count} calls", len(got) == count, got)
got = run(DUMP, "calls", "-w", "$value.dept == 30", "walk.ptl")
check("a misspelled value: the values are listed", got.returncode == 2 and "did you mean 'depth'?" in got.stderr and
      got.stderr.rstrip().endswith("values of events are depth, path"), got)
plan()
