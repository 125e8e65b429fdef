# SPDX-License-Identifier: BSD-2-Clause
# Shared by tests of ptl-dump gdb: programs, and comparisons of gdb's history with ptl-dump flow and calls.
"""PTL_GDB names another gdb than the one of PATH."""
import collections
import functools
import itertools
import json
import os
import re
import subprocess

from scratch_test import DUMP, RECORD, Failed, check, output, path, run, scratch

GDB = os.environ.get("PTL_GDB", "gdb")
SOURCES = os.path.join(os.environ["PTL_TESTDATA"], "programs")
os.environ["TMPDIR"] = scratch
os.environ["HOME"] = scratch
os.environ.pop("DEBUGINFOD_URLS", None)


def gdb(name, *commands, options=()):
    words = [word for command in ("set pagination off", *commands) for word in ("--ex", command)]
    got = run(DUMP, "gdb", "--gdb", GDB, "-q", "--batch", *words, *options, name)
    # Errors, and the output of monitor, are in a stream of their own.
    got.stdout += got.stderr
    return got


def thread_of(line):
    return int(re.search(rb'"tid":(\d+)', line)[1])


@functools.lru_cache(maxsize=2)
def flow(name, *options, most=None):
    """The address, function and image of the instructions of each thread, or of its last `most` instructions. Remembers two
    answers: a test that changes what PTL finds beside the trace calls flow.cache_clear()."""
    threads = {}
    with subprocess.Popen([DUMP, "flow", "--level", "insn", "--json", *options, name], cwd=scratch, stdout=subprocess.PIPE) as shown:
        while lines := shown.stdout.readlines(1 << 20):
            # Threads come one after the other: most pieces have lines of a single thread.
            same = thread_of(lines[0]) == thread_of(lines[-1])
            for tid, part in ((thread_of(lines[0]), lines),) if same else itertools.groupby(lines, thread_of):
                # Some lines are no instructions.
                threads.setdefault(tid, collections.deque(maxlen=most and 2 * most)).extend(part)
    if shown.returncode:
        raise Failed(f"status {shown.returncode} of ptl-dump flow {name}")
    found = {}
    for tid, lines in threads.items():
        items = [item for item in map(json.loads, lines) if item["type"] == "instruction"]
        if items:
            found[tid] = [(int(item["ip"], 16), item.get("symbol"), item.get("image")) for item in items[-(most or 0):]]
    return found


def build(name, *options, source=None):
    got = run("gcc", "-g", "-O1", "-pthread", "-o", name, os.path.join(SOURCES, source or name + ".c"), *options)
    check(f"{name} is built", got.returncode == 0, got)
    return path(name)


def record(name, program, *arguments):
    run(RECORD, "-q", "--embed", "debug", "-o", name, "--", program, *arguments)
    check(f"{name} is recorded", os.path.exists(path(name)))
    return name


def plain(name):
    """A name without parameters, types and clones, which gdb and PTL write in different ways."""
    return re.split(r"[(<[]", name)[0].split()[-1] if name and name[0] not in "([<" else name


def collapsed(names):
    """Without names that follow themselves."""
    return [name for i, name in enumerate(names) if not i or names[i - 1] != name]


HISTORIES = ["record goto end", "set record instruction-history-size 0", "set record function-call-history-size 0", "set print asm-demangle off",
             "thread apply all -s -ascending -q python print('THREAD', gdb.selected_thread().ptid[1]); "
             "print(gdb.execute('record instruction-history', to_string=True)); print('FUNCTIONS'); "
             "print(gdb.execute('record function-call-history', to_string=True))"]


def histories(name, *options):
    """Of each thread the addresses of instructions, and the functions."""
    got = gdb(name, *HISTORIES, options=options)
    threads = {}
    addresses = functions = []
    in_functions = False
    for line in got.stdout.splitlines():
        if line.startswith("THREAD "):
            addresses, functions = threads[int(line.split()[1])] = [], []
            in_functions = False
        elif line == "FUNCTIONS":
            in_functions = True
        elif in_functions and re.match(r"\d+\t", line):
            functions.append(line.split("\t")[1])
        elif match := re.match(r"\d+\t[ =>]*(0x[0-9a-f]+)", line):
            addresses.append(int(match[1], 16))
    return got, threads


def same_history(name, program, most=None, flow_options=(), options=(), like=""):
    """gdb has the instructions of flow, or the last `most` instructions of each thread. Behind them is an instruction that did
    not complete, if flow knows one. like: pattern of the compared functions."""
    want = flow(name, *flow_options, most=most) if most else flow(name, *flow_options)
    got, threads = histories(name, "--instructions", str(most or 10**6), *options)
    check(f"{name}: gdb has the threads of flow", set(threads) == set(want) and want, got, sorted(want))
    wrong, wrong_functions, all_names = [], [], set()
    for tid, instructions in want.items():
        addresses, functions = threads.get(tid, ([], []))
        here = [one[0] for one in instructions]
        # A window begins with a whole block.
        if most and len(here) == most:
            here = here[-(len(addresses) - 1):] if addresses[-1] != here[-1] else here[-len(addresses):]
            instructions = instructions[-len(here):]
        if addresses[:len(here)] != here or len(addresses) > len(here) + 1 or len(here) < min(len(want[tid]), most - 1000 if most else len(want[tid])):
            wrong.append((tid, len(here), len(addresses)))
        functions = [plain(one) for one in functions]
        instructions = [(one[0], plain(one[1]), one[2]) for one in instructions]
        names = {one[1] for one in instructions if one[2] == program and one[1] and "@" not in one[1] and one[1][0] != "_" and re.match(like, one[1])}
        all_names |= names
        # Code without a name, and entries of the PLT, have other names in gdb.
        seen = collapsed([one for one in functions if one in names])
        flow_names = collapsed([one[1] for one in instructions if one[1] in names and one[2] == program])
        if seen != flow_names and seen[:-1] != flow_names:
            where = next((i for i, both in enumerate(zip(seen, flow_names)) if both[0] != both[1]), min(len(seen), len(flow_names)))
            wrong_functions.append((tid, where, seen[max(where - 3, 0):where + 5], flow_names[max(where - 3, 0):where + 5]))
    check(f"{name}: gdb has the {sum(map(len, want.values()))} instructions of flow", not wrong, wrong, got.stderr)
    check(f"{name}: gdb's history of calls has the {len(all_names)} functions of flow", all_names and not wrong_functions,
          *wrong_functions)


def is_called(name, function):
    """Whether a name, possibly with C++ parameters, is that of the function."""
    return name == function or re.search(r"(^|\s)%s[<(]" % re.escape(function), name) is not None


def hits(name, function, flow_options=(), options=(), most=100):
    """A breakpoint stops at each call, backwards, the last call first. Checks at most the last `most` calls."""
    calls = [json.loads(line) for line in output(DUMP, "calls", "--json", "--no-fold", *flow_options, name).splitlines()]
    calls = [one for one in calls if one["type"] == "call" and one["function"] and is_called(one["function"], function)]
    entries = [one for instructions in flow(name, *flow_options).values() for one in instructions]
    first = min((one[0] for one in entries if one[1] and is_called(one[1], function)), default=0)
    expected = min(len(calls), most)
    got = gdb(name, f"break *{first:#x}", *["reverse-continue"] * (expected + (len(calls) <= most)), options=options)
    stops = len(re.findall(r"^Breakpoint 1, .*\b%s\b" % function, got.stdout, re.M))
    check(f"{name}: a breakpoint stops at the last {expected} of {len(calls)} calls of {function}, backwards",
          calls and stops == expected and (len(calls) > most or re.search("No more reverse-execution history|Reached end of recorded history", got.stdout)), stops, got)


def same_lines(name, program, *options, flow_options=()):
    """gdb has the source lines of flow, for each executed address of the program."""
    want = {}
    for line in output(DUMP, "flow", "--level", "insn", "--source", "--json", *flow_options, name).splitlines():
        item = json.loads(line)
        if item["type"] == "instruction" and item.get("image") == program and "line" in item:
            want[int(item["ip"], 16)] = os.path.basename(item["file"]), item["line"]
    with open(path("lines.py"), "w", encoding="utf-8") as file:
        file.write("import os\n"
                   f"for address in {sorted(want)}:\n"
                   "    found = gdb.find_pc_line(address)\n"
                   "    print('LINE', address, os.path.basename(found.symtab.filename) if found.symtab else '-', found.line)\n")
    got = gdb(name, "source lines.py", options=options)
    found = {int(words[1]): (words[2], int(words[3])) for words in map(str.split, got.stdout.splitlines()) if words[:1] == ["LINE"]}
    wrong = {hex(address): (found.get(address), line) for address, line in want.items() if found.get(address) != line}
    check(f"{name}: gdb has the {len(set(want.values()))} lines of flow", want and not wrong, len(wrong), list(wrong.items())[:10], got.stderr)
