#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump crash: planted faults are named in the first lines, by thread, function, line and callers; info, lint and html say the same.
import html.parser
import json
import os
import re
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from scratch_test import DUMP, RECORD, RELOG, check, output, path, plan, run, scratch, skip, write

os.environ["TMPDIR"] = scratch
os.environ["HOME"] = scratch
os.environ.pop("DEBUGINFOD_URLS", None)
LINES = {}


def build(name, text, *options):
    """Compiles the program, and notes the lines with a comment like /* here */."""
    source = name + (".cpp" if "#include <vector>" in text else ".c")
    write(source, text)
    got = run("g++" if source.endswith("cpp") else "gcc", "-g", "-O1", "-pthread", "-o", name, *options, source)
    check(f"{name} is built", got.returncode == 0, got)
    for number, line in enumerate(text.splitlines(), 1):
        if match := re.search(r"/\* (\w+) \*/", line):
            LINES[name, match[1]] = f"{source}:{number}"


def record(name, *command, options=()):
    run(RECORD, "-q", "-f", "--embed", "debug", *options, "-o", name + ".ptl", "--", *(command or (path(name),)))
    check(f"{name} is recorded", os.path.exists(path(name + ".ptl")))
    return name + ".ptl"


def crash(name, *options):
    """The text, and the objects of --json."""
    text = run(DUMP, "crash", *options, name)
    got = run(DUMP, "crash", "--json", *options, name)
    return text, [json.loads(line) for line in got.stdout.splitlines()]


def expect(name, *words, status=1, place=None, options=()):
    """The words are in the first five lines, in this order; --json has the sentence and the place. Returns the first object."""
    text, objects = crash(name, *options)
    first = "\n".join(text.stdout.splitlines()[:5])
    found = re.search(".*?".join(map(re.escape, words)), first, re.S)
    check(f"{name}: the first lines name {words[-1]}", found and text.returncode == status, text, words)
    one = objects[0] if objects else {"place": None}
    check(f"{name}: --json has the sentence", objects and one["text"] == next(line for line in text.stdout.splitlines() if line == one["text"]), objects, text)
    if place:
        at = one["place"] or {}
        check(f"{name}: the place is {place}", at.get("file") and f"{os.path.basename(at['file'])}:{at['line']}" == place, one)
    return one


# ---- a crash in a thread -------------------------------------------------------------------------------

build("orders", """
#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <vector>

struct order { int amount; int *discount; };

static int __attribute__((noinline)) rebate(const order &o)
{
	int result = o.amount / 10;
	result += *o.discount; /* fault */
	return result;
}

static int __attribute__((noinline)) total(const std::vector<order> &orders)
{
	int sum = 0;
	for (const order &o : orders)
		sum += o.amount - rebate(o); /* caller */
	return sum;
}

static void *work(void *number)
{
	int discount = 3;
	std::vector<order> orders;
	if (number)
		prctl(PR_SET_NAME, "worker-2");
	for (int i = 0; i < 100; i++)
		orders.push_back({i, number && i == 57 ? nullptr : &discount});
	if (number)
		usleep(50000);
	volatile int sum = total(orders);
	(void)sum;
	if (!number)
		pause();
	return nullptr;
}

int main()
{
	pthread_t threads[4];
	for (long i = 0; i < 4; i++)
		pthread_create(&threads[i], nullptr, work, i == 2 ? threads : nullptr);
	for (pthread_t thread : threads)
		pthread_join(thread, nullptr);
}
""")
record("orders")
one = expect("orders.ptl", "(worker-2) of orders", "died of SIGSEGV", "in rebate, " + LINES["orders", "fault"],
             "called from total, " + LINES["orders", "caller"], "called from work", place=LINES["orders", "fault"])
fatal = next(thread for thread in one["threads"] if thread["tid"] == one["tid"])
check("the stack has the callers", [frame["function"].split("(")[0] for frame in fatal["stack"]][:3] == ["rebate", "total", "work"], fatal)
lines = [f"{os.path.basename(line['file'])}:{line['line']}" for line in fatal["lines"] if line["file"]]
check("the last lines end at the fault", len(lines) == 20 and lines[-1] == LINES["orders", "fault"] and LINES["orders", "caller"] in lines, lines)
check("lines have their text", "result += *o.discount" in (fatal["lines"][-1]["words"] or ""), fatal["lines"][-1])
check("the other threads are listed", len(one["threads"]) == 5 and sum("pause" in thread["text"] for thread in one["threads"]) == 3, one)
check("the way is a fault", one["way"] == "fault" and one["signal"] == "SIGSEGV" and one["fault_address"] == "0x0", one)
text, _ = crash("orders.ptl")
check("the text says what to run next", "ptl-dump gdb --pid" in text.stdout and "last lines" in text.stdout, text)
got = crash("orders.ptl", "--lines", "3")[1][0]
check("--lines bounds the lines", len(next(thread for thread in got["threads"] if thread["tid"] == got["tid"])["lines"]) == 3, got)

# Without the event, the only thread that stands before an instruction is the one.
write("rules", "on signal opcode fatal { drop; }\n")
run(RELOG, "-q", "-o", "old.ptl", "--rules", "rules", "orders.ptl")
got = expect("old.ptl", "(worker-2) of orders", "in rebate, " + LINES["orders", "fault"])
check("a trace without the event has no address", got["fault_address"] is None and got["tid"] == one["tid"], got)
for option, wrong in ("--most", "0"), ("--lines", "x"), ("--events", "-1"):
    got = run(DUMP, "crash", option, wrong, "orders.ptl")
    check(f"{option} {wrong} is refused", got.returncode == 2 and option in got.stderr, got)

# ---- other commands ------------------------------------------------------------------------------------

sentence = one["text"]
check("info begins with the sentence", sentence in output(DUMP, "info", "orders.ptl").splitlines()[0])
check("info --json has the sentence", json.loads(output(DUMP, "info", "--json", "orders.ptl"))["failed"] == [sentence])
got = run(DUMP, "lint", "orders.ptl")
check("lint shows the sentence", sentence in got.stdout, got)
got = run(DUMP, "lint", "--limit", "failures=0", "--json", "orders.ptl")
found = {each["check"]: each for each in json.loads(got.stdout)["checks"]}["failures"]
check("lint can forbid failures", got.returncode == 1 and not found["passed"] and found["findings"] == [sentence], found)


class Page(html.parser.HTMLParser):
    """The page's data about failures."""
    wanted, text = False, ""

    def handle_starttag(self, tag, attrs):
        self.wanted = dict(attrs).get("id") == "data-crash"

    def handle_endtag(self, tag):
        self.wanted = False

    def handle_data(self, data):
        self.text += data if self.wanted else ""


page = Page()
page.feed(output(DUMP, "html", "orders.ptl"))
got = json.loads(page.text)
check("html has the sentence, stack and lines", got["failures"] == 1 and got["processes"][0]["text"] == sentence and
      any(frame["chosen"] and frame["place"].endswith(LINES["orders", "fault"]) for frame in got["processes"][0]["stack"]) and
      len(got["processes"][0]["lines"]) == 20, got)

# ---- hangs ---------------------------------------------------------------------------------------------

build("deadlock", """
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static void __attribute__((noinline)) transfer(pthread_mutex_t *from, pthread_mutex_t *to)
{
	pthread_mutex_lock(from);
	usleep(100000);
	pthread_mutex_lock(to); /* hang */
	pthread_mutex_unlock(to);
	pthread_mutex_unlock(from);
}
static void *pay(void *none)
{
	transfer(&first, &second);
	return none;
}
static void *refund(void *none)
{
	transfer(&second, &first);
	return none;
}
int main(void)
{
	pthread_t threads[2];
	pthread_create(&threads[0], NULL, pay, NULL);
	pthread_create(&threads[1], NULL, refund, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return 0;
}
""")
where = "called from transfer, " + LINES["deadlock", "hang"]
record("deadlock", "timeout", "3", path("deadlock"))
one = expect("deadlock.ptl", "deadlock", "died of SIGTERM", "lock", where, "thread", "lock", where)
check("a signal from outside shows all threads", one["tid"] is None and len(one["threads"]) == 3, one)
check("the callers differ", {caller for caller in ("pay", "refund") for thread in one["threads"] if "called from " + caller in thread["text"]} == {"pay", "refund"}, one)
# The program runs on, and would keep a pipe open.
subprocess.run([RECORD, "-q", "--embed", "debug", "--duration", "3s", "-o", "running.ptl", "--", path("deadlock")], cwd=scratch,
               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=200, check=False)
one = expect("running.ptl", "no process failed", "runs at the end of the trace", where, where, status=0)
check("a running process did not fail", not one["failed"] and one["signal"] is None, one)
try:
    os.kill(one["pid"], signal.SIGKILL)
except ProcessLookupError:
    pass

# ---- ways to end ---------------------------------------------------------------------------------------

build("ways", """
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void handle(int number)
{
	(void)number;
	_exit(9);
}
static void __attribute__((noinline)) give_up(const char *how)
{
	if (!strcmp(how, "abort"))
		abort(); /* abort */
	if (!strcmp(how, "assert"))
		assert(how[0] == 'x'); /* assert */
	if (!strcmp(how, "exit"))
		exit(3); /* exit */
	if (!strcmp(how, "raise"))
		raise(SIGUSR1); /* raise */
	if (!strcmp(how, "string"))
		printf("%zu", strlen((const char *)(long)(how[0] == 's'))); /* string */
	if (!strcmp(how, "handler")) {
		signal(SIGSEGV, handle);
		*(volatile int *)8 = 1; /* handler */
	}
}
int main(int argc, char **argv)
{
	give_up(argv[1]);
	for (int i = 0; i < 50; i++)
		getpid();
	if (argc > 2)
		return 5;
	return 0; /* zero */
} /* return */
""", "-fno-builtin")
for how, words in {
        "abort": ("died of SIGABRT in give_up, ", "(abort was called), called from main"),
        "assert": ("died of SIGABRT in give_up, ", "(a failed assertion), called from main"),
        "exit": ("exited with status 3 in give_up, ", "(exit was called), called from main"),
        "raise": ("died of SIGUSR1 in give_up, ", "(raise was called)"),
        "string": ("died of SIGSEGV (address 0x1) in give_up, ", "(in a call of ", "strlen"),
        "handler": ("exited with status 9 in give_up, ",)}.items():
    record("ways-" + how, path("ways"), how)
    at = LINES["ways", how]
    expect(f"ways-{how}.ptl", words[0] + at, *words[1:], place=at)
record("ways-return", path("ways"), "x", "y")
one = expect("ways-return.ptl", "exited with status 5: main returned, " + LINES["ways", "return"], place=LINES["ways", "return"])
check("the last line is the return", one["threads"][0]["lines"] and one["threads"][0]["lines"][-1]["line"] == int(LINES["ways", "return"].split(":")[1]), one)
record("ways-zero", path("ways"), "x")
text, objects = crash("ways-zero.ptl")
check("a process without a failure", text.returncode == 0 and text.stdout == "no process failed\n" and not objects, text)
check("info has no line of failures", "failed" not in output(DUMP, "info", "ways-zero.ptl"))

build("thrown", """
#include <vector>
static int __attribute__((noinline)) pick(const std::vector<int> &list, int i)
{
	return list.at(i); /* throw */
}
int main(int argc, char **)
{
	std::vector<int> list(5);
	int sum = 0;
	for (int i = 0; i < 7; i++)
		sum += pick(list, i);
	return sum + argc;
}
""")
record("thrown")
expect("thrown.ptl", "died of SIGABRT in pick, " + LINES["thrown", "throw"], "an exception that nothing catches", "called from main",
       place=LINES["thrown", "throw"])

build("recursion", """
static int __attribute__((noinline)) deep(volatile int n)
{
	volatile char room[200];
	room[0] = 1;
	if (n < 0)
		return 1;
	return deep(n + 1) + room[0]; /* again */
}
int main(void)
{
	return deep(0);
}
""")
record("recursion")
one = expect("recursion.ptl", "died of SIGSEGV", "in deep, recursion.c:", "called from main", "; the stack has ")
frames = int(re.search(r"the stack has ([\d,]+) frames", one["text"])[1].replace(",", ""))
check("a deep stack is cut, and its frames are counted", frames > 5000 and len(one["threads"][0]["stack"]) < 200 and
      one["threads"][0]["frames_missing"] + len(one["threads"][0]["stack"]) == frames, one["text"])

# ---- a call of an address without code -------------------------------------------------------------------

for name, address in (("null_call", "0x0"), ("last_call", "0xffffffffffffffff")):
    build(name, f"""
#include <stdint.h>
static uintptr_t address = {address};
static void __attribute__((noinline)) use(void (**open)(void))
{{
	(*open)(); /* call */
	address++;
}}
int main(void)
{{
	use((void (**)(void))&address);
	return (int)address;
}}
""")
    record(name)
    expect(f"{name}.ptl", f"died of SIGSEGV (address {address})", f"in use, {LINES[name, 'call']} (a call of an address that no image covers)",
           "called from main", place=LINES[name, "call"])

write("plugin.c", "int plugin_step(int x) { return 3 * x + 1; } /* step */\n")
got = run("gcc", "-g", "-shared", "-fPIC", "-o", "plugin.so", "plugin.c")
check("plugin.so is built", got.returncode == 0, got)
build("unloaded", f"""
#include <dlfcn.h>
static int __attribute__((noinline)) fire(int (*step)(int))
{{
	return step(1) + 1; /* call */
}}
int main(void)
{{
	void *plugin = dlopen("{path('plugin.so')}", RTLD_NOW);
	int (*step)(int) = plugin ? (int (*)(int))dlsym(plugin, "plugin_step") : 0;
	int first = fire(step);
	dlclose(plugin);
	return first + fire(step);
}}
""", "-ldl")
record("unloaded")
one = expect("unloaded.ptl", "died of SIGSEGV", f"in fire, {LINES['unloaded', 'call']} (plugin_step in plugin.so was unmapped before)",
             "called from main", place=LINES["unloaded", "call"])
frame = one["threads"][0]["stack"][0]
check("the frame without code has the function's name and line", frame["unmapped"] and frame["function"] == "plugin_step" and
      frame["line"] == 1 and not any(other["unmapped"] for other in one["threads"][0]["stack"][1:]), one)

# ---- several processes ---------------------------------------------------------------------------------

record("several", "sh", "-c", f"{path('ways')} abort 2>/dev/null; {path('ways')} exit; exit $?")
text, objects = crash("several.ptl", "--most", "1")
check("the death by a signal comes first", objects[0]["signal"] == "SIGABRT" and "threads" in objects[0], objects)
check("a child comes before the parent that passes on its status", [(each["process"], each["exit_status"]) for each in objects[1:]][0] == ("ways", 3) and objects[2]["exit_status"] == 3, objects)
check("--most bounds the details", sum("threads" in each for each in objects) == 1 and len(text.stdout.splitlines()) > 10, objects)
check("--pid chooses a process", [each["pid"] for each in crash("several.ptl", "--pid", str(objects[1]["pid"]))[1]] == [objects[1]["pid"]])

# ---- programs that nobody here wrote --------------------------------------------------------------------

record("python", "/usr/bin/python3", "-c", "import ctypes; ctypes.string_at(0)")
one = expect("python.ptl", "of python3", "died of SIGSEGV (address 0x0)")
check("python: strlen is on the stack", any("strlen" in (frame["function"] or "") for thread in one["threads"] for frame in thread["stack"]), one)
record("bash", "bash", "-c", "f() { exit 7; }; f")
expect("bash.ptl", "of bash", "exited with status 7")
if shutil.which("perl"):
    record("perl", "perl", "-e", "sub f { die 'bad' } f(1)")
    expect("perl.ptl", "of perl", "exited with status 255", "exit was called")
else:
    skip("perl", "there is no perl")
if shutil.which("go"):
    os.makedirs(path("panic"))
    write("panic/main.go", "package main\n\nimport \"os\"\n\n//go:noinline\nfunc pick(list []int, i int) int {\n\treturn list[i]\n}\n\n"
          "func main() {\n\tos.Exit(pick([]int{1, 2}, len(os.Args)+1))\n}\n")
    got = run("go", "build", "-o", path("gopanic"), "main.go", cwd=path("panic"), env={**os.environ, "GO111MODULE": "off", "GOCACHE": path("cache")})
    check("a program of Go is built", got.returncode == 0, got)
    record("gopanic")
    expect("gopanic.ptl", "exited with status 2 in main.pick, main.go:7 (a panic)", "called from main.main", place="main.go:7")
else:
    skip("a panic of Go", "there is no go")
rust = shutil.which("rustc")
if rust:
    write("rustpanic.rs", "#[inline(never)]\nfn pick(list: &Vec<i32>, i: usize) -> i32 {\n    list[i]\n}\n\n"
          "fn main() {\n    let list = vec![1, 2];\n    let n = std::env::args().count();\n    println!(\"{}\", pick(&list, n + 2));\n}\n")
    got = run(rust, "-g", "-O", "rustpanic.rs")
if rust and got.returncode == 0:
    record("rustpanic")
    expect("rustpanic.ptl", "exited with status 101 in rustpanic::pick, rustpanic.rs:3 (a panic)", place="rustpanic.rs:3")
else:
    skip("a panic of Rust", "there is no rustc")
plan()
