# SPDX-License-Identifier: BSD-2-Clause
# Measures what recorders and profilers cost the same programs, in one run: the table of the README.
"""cost_bench.py [--json] [--quick]

Each number is the CPU time of the tool and the program together, divided by the native CPU time: the least of three runs (of tools
that take more than SLOW times as long: one run).
A tool that takes more than LIMIT times as long is stopped. A missing tool is named.
"""
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from bench_text import make_text  # noqa: E402

RECORD = os.path.abspath(os.path.join(os.environ.get("PTL_BIN", "build/bin"), "ptl-record"))
LIMIT = 100
SLOW = 10  # such a tool runs once
SHORT_LIMIT = 10  # with --quick
WORDS = """#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

static std::string word(unsigned &seed)
{
	std::string text;

	for (int i = 0; i < 5; i++, seed = seed * 1664525 + 1013904223)
		text += static_cast<char>('a' + seed / 65536 % 5);
	return text;
}

int main()
{
	std::map<std::string, int> counts;
	unsigned seed = 1;

	for (int i = 0; i < 2000000; i++)
		counts[word(seed)]++;
	std::vector<std::pair<int, std::string>> order;
	for (const auto &[text, count] : counts)
		order.emplace_back(count, text);
	std::sort(order.begin(), order.end());
	std::printf("%s\\n", order.back().second.c_str());
}
"""
PROGRAMS = (("gzip -1", ["gzip", "-1", "-c", "text"]), ("g++ -O2", ["g++", "-O2", "-c", "-o", "words.o", "words.cpp"]),
            ("C++ program", ["./words"]))
TOOLS = (
    ("ptl-record, events only", RECORD, ["-q", "-f", "-o", "trace", "--source=none", "--"], "processes, code, events"),
    ("perf record -g", "perf", ["record", "-q", "-g", "-o", "trace"], "samples with stacks"),
    ("ptl-record, software", RECORD, ["-q", "-f", "-o", "trace", "--source=software", "--"], "every branch of all processes"),
    ("uftrace record", "uftrace", ["record", "-d", "trace.dir"], "calls, of a program built with -pg"),
    ("valgrind --tool=callgrind", "valgrind", ["-q", "--tool=callgrind", "--trace-children=yes", "--callgrind-out-file=trace"],
     "sums by function, no order"),
    ("gdb record full", "gdb", ["-batch", "-ex", "set debuginfod enabled off", "-ex", "set record full insn-number-max unlimited",
                                "-ex", "starti", "-ex", "record full", "-ex", "continue", "--args"], "every instruction, live, one process"),
)


def spent():
    """CPU seconds of all ended children."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(command, seconds):
    """Returns the CPU time of the command, or None if the command needs more seconds, and its output."""
    def bound():
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))

    before = spent()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE if command[0] == "gdb" else subprocess.DEVNULL,
                          stderr=subprocess.STDOUT if command[0] == "gdb" else subprocess.PIPE, check=False,
                          preexec_fn=bound if seconds else None)
    cpu = spent() - before
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL) or seconds and cpu > seconds:
        return None, b""
    return 0 if done.returncode else cpu, done.stdout or done.stderr


def tool_command(tool, options, program):
    """The command, or the reason why there is none."""
    if not shutil.which(tool):
        return None, "not installed"
    if tool == "uftrace":
        return ([tool, *options, "./words-pg"], None) if program == ["./words"] else (None, "no -pg")
    if tool == "gdb" and program == ["./words"]:
        options = ["start" if option == "starti" else option for option in options]
    return [tool, *options, *program], None


def measure(tool, options, program, native, runs, limit):
    command, why = tool_command(tool, options, program)
    if why:
        return {"reason": why}
    least = None
    for _ in range(runs):
        cpu, output = run(command, native * limit)
        if cpu is None:
            return {"more_than": limit}
        if not cpu or b"Process record: failed" in output:
            print(f"cost_bench: {command[0]}: " + output.decode(errors="replace")[-300:], file=sys.stderr)
            return {"reason": "fails"}
        least = min(cpu, least or cpu)
        if least > SLOW * native:
            break
    return {"ratio": least / native}


def cell(result):
    if "ratio" in result:
        return "%.3g" % result["ratio"] if result["ratio"] < 100 else "%.0f" % result["ratio"]
    return "more than %d" % result["more_than"] if "more_than" in result else result["reason"]


def prepare(quick):
    make_text("text", 3_000_000 if quick else 27_000_000)
    with open("words.cpp", "w") as file:
        file.write(WORDS)
    for name, option in (("words", "-g"), ("words-pg", "-pg")):
        subprocess.run(["g++", "-O2", option, "-o", name, "words.cpp"], check=True)


def main():
    as_json, quick = "--json" in sys.argv[1:], "--quick" in sys.argv[1:]
    runs, limit = (1, SHORT_LIMIT) if quick else (3, LIMIT)
    scratch = tempfile.mkdtemp(prefix="ptl-bench-")
    os.chdir(scratch)
    try:
        prepare(quick)
        native = {name: min(run(program, 0)[0] for _ in range(runs)) for name, program in PROGRAMS}
        if not as_json:
            print("| CPU time, native is 1 | " + " | ".join(native) + " | records |\n" + "|---" * (len(native) + 2) + "|")
            print("| native, seconds | " + " | ".join("%.2f" % seconds for seconds in native.values()) + " | |")
        for name, tool, options, what in TOOLS:
            results = {program: measure(tool, options, command, native[program], runs, limit) for program, command in PROGRAMS}
            if as_json:
                print(json.dumps({"bench": "cost", "tool": name, "programs": results, "native_seconds": native}), flush=True)
            else:
                print("| %s | %s | %s |" % (name, " | ".join(cell(result) for result in results.values()), what), flush=True)
    finally:
        os.chdir("/")
        shutil.rmtree(scratch, ignore_errors=True)


main()
