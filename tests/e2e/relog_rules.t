#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-relog --rules: names the code of a private plugin loader, with the loader's own events and without, and rewrites
# events; what is executed stays the same.
import json
import os
import re
import shutil

from scratch_test import DUMP, RECORD, RELOG, check, plan, path, run, scratch, write

PROGRAMS = os.environ["PTL_PROGRAMS"]
RULES = os.path.join(os.environ["PTL_TESTDATA"], "plugins")
MAKE_SAMPLE = os.path.join(os.environ["PTL_TEST_TOOLS"], "make_sample")


def dump(name, *view):
    got = run(DUMP, *view, name)
    return got.stdout if got.returncode in (0, 1) else f"(failed) {got.stderr}"


def lines(name, *view):
    return [json.loads(line) for line in dump(name, *view, "--json").splitlines()]


def relog(trace, rules, out, *more):
    return run(RELOG, "-q", "-f", trace, "--rules", rules, "-o", out, *more)


def executed(name):
    """What each thread executed: the hash of all addresses, instructions and gaps."""
    stats = json.loads(dump(name, "stats", "--hash", "--json"))
    return [(t["ip_sha256"], t["instructions"], t["gaps"]) for p in stats["processes"] for t in p["threads"]]


def plugins(name):
    return [(os.path.basename(i["path"]), i["base"], i["loaded"], i["unloaded"]) for i in
            lines(name, "images") if i["path"].endswith(".plugin")]


def content(name):
    return [dump(name, *view) for view in (("events", "--json"), ("images", "--json"), ("processes", "--json"),
                                           ("stats", "--hash", "--json"), ("flow",))]


def calls(name):
    """Functions of plugins that were entered, in order, without repetition of the last."""
    flow = dump(name, "flow", "--level", "branch", "--image", "*.plugin")
    found = []
    for match in re.finditer(r"(?:call|return) .*  (\w+)\.plugin +(\w+)(?:\+0x[0-9a-f]+)?$", flow, re.M):
        if not found or found[-1] != match.groups()[::-1]:
            found.append(match.groups()[::-1])
    return found


def same_names(name):
    seen = calls(name)
    return all(("entry", plugin) in seen for plugin in ("collatz", "sorter", "mixer")) and \
        ("triple", "collatz") in seen and ("rotate", "mixer") in seen and \
        seen.index(("entry", "sorter")) < seen.index(("entry", "mixer"))


for name in ("plugin_host", "collatz.plugin", "collatz.sym", "sorter.plugin", "sorter.sym", "mixer.plugin", "mixer.sym"):
    shutil.copy(os.path.join(PROGRAMS, name), scratch)
for name in ("events.rules", "silent.rules"):
    shutil.copy(os.path.join(RULES, name), scratch)

# ---- the story -----------------------------------------------------------------------------------

got = run(RECORD, "-q", "-p", "Plugin-Loader", "-o", "events.ptl", "--", "./plugin_host")
check("a host that reports its plugins is recorded", got.returncode == 0, got.stderr)
got = run(RECORD, "-q", "-o", "silent.ptl", "--", "./plugin_host", "silent")
check("and one that does not", got.returncode == 0, got.stderr)

unmapped = dump("silent.ptl", "images", "--unmapped")
check("what ran in unnamed memory is shown", "6000005" in unmapped and "6000105" in unmapped, unmapped)
check("and counted", "ran outside any image" in dump("silent.ptl", "stats"), dump("silent.ptl", "stats"))

for kind in ("events", "silent"):
    before = executed(f"{kind}.ptl")
    got = relog(f"{kind}.ptl", f"{kind}.rules", f"{kind}-named.ptl")
    check(f"{kind}: the rules apply", got.returncode == 0 and not got.stderr, got.stderr)
    seen = plugins(f"{kind}-named.ptl")
    check(f"{kind}: the three plugins are images", [p[0] for p in seen] ==
          ["collatz.plugin", "sorter.plugin", "mixer.plugin"], seen)
    check(f"{kind}: two of them had one address in turn", len(seen) == 3 and seen[1][1] == seen[2][1] and
          seen[1][3] is not None and seen[1][3] <= seen[2][2], seen)
    check(f"{kind}: their functions have names", same_names(f"{kind}-named.ptl"), calls(f"{kind}-named.ptl"))
    check(f"{kind}: what was executed is the same", executed(f"{kind}-named.ptl") == before and before[0][2] == 0,
          before, executed(f"{kind}-named.ptl"))
    check(f"{kind}: nothing is counted as unnamed", "outside" not in dump(f"{kind}-named.ptl", "stats"))
    left = run(DUMP, "images", "--unmapped", f"{kind}-named.ptl")
    check(f"{kind}: nothing is without a name", "every executed address lies in an image" in left.stderr, left.stdout,
          left.stderr)
    got = run(DUMP, "verify", f"{kind}-named.ptl")
    check(f"{kind}: two engines agree on it", got.returncode == 0, got.stdout[-400:], got.stderr)
    info = json.loads(dump(f"{kind}-named.ptl", "info", "--json"))
    with open(path(f"{kind}.rules"), encoding="utf-8") as file:
        text = file.read()
    check(f"{kind}: provenance has the rules", text in [p.get("rules") for p in info["provenance"]],
          json.dumps(info.get("provenance"))[:300])
    got = relog(f"{kind}-named.ptl", f"{kind}.rules", f"{kind}-twice.ptl")
    check(f"{kind}: applied twice, the rules give the same as once", got.returncode == 0 and
          content(f"{kind}-named.ptl") == content(f"{kind}-twice.ptl"), got.stderr)

loaded = [e for e in lines("events-named.ptl", "events") if e.get("provider_name") == "Plugin-Loader"]
check("events: the loader's own events are dropped", not loaded, loaded[:2])

# ---- no code in the trace, as on real hardware ------------------------------------------------------

write("blind.rules", 'on code { drop; }\non image where FileName == "//anon" { drop; }\n')
got = relog("silent.ptl", "blind.rules", "blind.ptl")
check("code that was captured can be dropped", got.returncode == 0, got.stderr)
gaps = executed("blind.ptl")[0]
check("without it there are gaps", gaps[2] > 0 and gaps[1] < executed("silent.ptl")[0][1], gaps)

text = ""
for plugin, base, section in (("collatz", 0x6000000000, 0), ("mixer", 0x6000100000, 0)):
    with open(path(f"{plugin}.plugin"), "rb") as file:
        data = file.read()
    rva, size, offset, stored = (int.from_bytes(data[at:at + 8], "little") for at in (32, 40, 48, 56))
    key = data[12]
    memory = int.from_bytes(data[16:24], "little")
    with open(path(f"{plugin}.raw"), "wb") as file:  # as the loader lays it out in memory
        file.write(bytes(rva) + bytes(b ^ key for b in data[offset:offset + stored]))
    code = f'file("{plugin}.plugin")' if key == 0 else f'raw("{plugin}.raw")'
    text += f'''image process "plugin_host" {{ path = "{plugin}.plugin"; base = {base:#x}; size = {memory};
        section ".text" {{ rva = {rva:#x}; file_offset = {offset:#x}; size = {size}; protection = rx; }}
        code = {code}; symbols = nm("{plugin}.sym"); }}\n'''
write("files.rules", text)
got = relog("blind.ptl", "files.rules", "files.ptl")
check("code comes from a plugin file and from a raw dump", got.returncode == 0, got.stderr)
seen = calls("files.ptl")
check("and decodes", executed("files.ptl")[0][1] > gaps[1] and ("triple", "collatz") in seen and
      ("entry", "mixer") in seen, executed("files.ptl"), seen)

# ---- symbols of other kinds ----------------------------------------------------------------------------

pid = lines("silent.ptl", "processes")[0]["pid"]
write(f"perf-{pid}.map", "6000005000 22 before (a, b)\n6000005022 74 from_perf_map\n7f0000000000 10 elsewhere\n")
write("perf.rules", 'image process "plugin_host" { path = "collatz.plugin"; base = 0x6000000000; size = 0x10000; '
      'symbols = perfmap("perf-%p.map"); }')
got = relog("silent.ptl", "perf.rules", "perf.ptl")
flow = dump("perf.ptl", "flow", "--level", "branch", "--image", "collatz.plugin")
check("symbols come from a perf map", got.returncode == 0 and re.search(r" collatz.plugin +from_perf_map\b", flow) and
      "before (a, b)+0x" in flow, got.stderr, flow[:600])
write("whole.rules", 'image process "plugin_host" { symbols = perfmap("perf-%p.map"); }')
got = relog("silent.ptl", "whole.rules", "whole.ptl")
flow = dump("whole.ptl", "flow", "--level", "branch", "--image", f"perf-{pid}.map")
check("a whole perf map needs neither base nor size", got.returncode == 0 and not got.stderr and
      re.search(rf" perf-{pid}.map +from_perf_map\b", flow) and "before (a, b)+0x" in flow, got.stderr, flow[:600])
check("what was executed is the same", executed("whole.ptl") == executed("silent.ptl"))
named = {i["path"]: i["base"] for i in lines("whole.ptl", "images") if i["path"].endswith(".map")}
check("its images are the memory without a name", named and all(path == f"perf-{pid}.map" for path in named) and
      not any(i["path"] == "//anon" for i in lines("whole.ptl", "images")), lines("whole.ptl", "images"))
check("and nothing runs outside of an image", "ran outside any image" not in dump("whole.ptl", "stats"))
write("whole.rules", 'image process "plugin_host" { path = "jit"; symbols = perfmap("nowhere-%p.map"); }')
got = relog("silent.ptl", "whole.rules", "whole.ptl")
check("a process without a map is reported once", got.returncode == 0 and
      got.stderr.count(f"there is no nowhere-{pid}.map") == 1 and executed("whole.ptl") == executed("silent.ptl"),
      got.stderr)
for wrong in ("base = 1;", "load = mapped;", "code = file(\"x\");", 'section "a" { rva = 0; size = 1; }'):
    write("whole.rules", f'image process "plugin_host" {{ {wrong} symbols = perfmap("perf-%p.map"); }}')
    got = relog("silent.ptl", "whole.rules", "whole.ptl")
    check(f"a whole perf map with {wrong}", got.returncode != 0 and "size = ..." in got.stderr, got.stderr)
write("elf.rules", 'image process "plugin_host" { path = "collatz.plugin"; base = 0x6000000000; size = 0x10000; '
      'symbols = elf("plugin_host"); }')
got = relog("silent.ptl", "elf.rules", "elf.ptl")
image = next(i for i in lines("elf.ptl", "images") if i["path"] == "collatz.plugin")
check("symbols come from an ELF file", got.returncode == 0 and not got.stderr and "symbols" in json.dumps(image) and
      executed("elf.ptl") == executed("silent.ptl"), got.stderr, image)

# ---- files that are larger than what may be in memory ----------------------------------------------------


def relog_measured(*arguments):
    """The result, and the most memory that the process had, in MiB; a file of its own is where /usr/bin/time puts it."""
    got = run("/usr/bin/python3", "-c", """import resource, subprocess, sys
got = subprocess.run(sys.argv[1:])
print("most", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10)
sys.exit(got.returncode)""", RELOG, "-q", "-f", *arguments)
    return got, int(got.stdout.split("most ")[-1])


shutil.copy(path("plugin_host"), path("large.elf"))
with open(path("large.elf"), "r+b") as file:  # its tables of names and debug information lie behind a gap
    shdr = int.from_bytes(file.read(48)[40:48], "little")
    size = os.path.getsize(path("large.elf"))
    file.seek(shdr)
    tables = file.read(size - shdr)
    file.truncate(120 << 20)
    file.seek(0, os.SEEK_END)
    file.write(tables)
    file.seek(40)
    file.write((120 << 20).to_bytes(8, "little"))
write("elf.rules", 'image process "plugin_host" { path = "collatz.plugin"; base = 0x6000000000; size = 0x10000; '
      'symbols = elf("large.elf"); debug = "large.elf"; }')
got, most = relog_measured("silent.ptl", "--rules", "elf.rules", "-o", "large.ptl")
again = next(i for i in lines("large.ptl", "images") if i["path"] == "collatz.plugin")
blobs = re.findall(r"\S*debug\S*", json.dumps(again))
check("an ELF file of 120 MiB gives the same symbols, in little memory", got.returncode == 0 and
      again.get("symbols") == image.get("symbols") and most < 110, got.stderr, most, image, again)
check("and is kept for its lines", blobs and executed("large.ptl") == executed("silent.ptl"), again)
os.remove(path("large.elf"))
with open(path("large.sym"), "w", encoding="utf-8") as file:
    for start in range(0x10000, 0x1010000, 0x10000):
        file.write("".join(f"{start + i * 4:016x} T a_function_of_some_other_part_of_the_program_{i}\n" for i in range(4096)))
    file.write("0000000000005000 T behind_all_of_them\n")
write("large.rules", 'image process "plugin_host" { path = "collatz.plugin"; base = 0x6000000000; size = 0x10000; '
      'symbols = nm("large.sym"); }')
got, most = relog_measured("silent.ptl", "--rules", "large.rules", "-o", "large.ptl")
flow = dump("large.ptl", "flow", "--level", "branch", "--image", "collatz.plugin")
check("so does a symbol file of 68 MiB", got.returncode == 0 and "behind_all_of_them" in flow and most < 64 and
      os.path.getsize(path("large.sym")) > 60 << 20, got.stderr, most, flow[:300], os.path.getsize(path("large.sym")))
os.remove(path("large.sym"))

# ---- forks ----------------------------------------------------------------------------------------------

got = run(RECORD, "-q", "-o", "fork.ptl", "--", os.path.join(PROGRAMS, "fork_no_exec"))
write("fork.rules", '''image process "fork_*" { path = "early.plg"; base = 0x5000000000; size = 4096; }
image process "fork_*" { path = "late.plg"; base = 0x5000001000; size = 4096; load = 1ns; unload = 3600s; }
''')
got = relog("fork.ptl", "fork.rules", "fork2.ptl")
parents = {i["pid"] for i in lines("fork.ptl", "images")}
seen = {i["pid"] for i in lines("fork2.ptl", "images") if i["path"] == "early.plg"}
check("what a process has, the processes that it forks have, too", got.returncode == 0 and len(parents) > 2 and
      seen == parents, got.stderr, seen, parents)
check("and they keep what they had", executed("fork2.ptl") == executed("fork.ptl") and
      [i for i in lines("fork2.ptl", "images") if not i["path"].endswith(".plg")] == lines("fork.ptl", "images"))

# ---- errors --------------------------------------------------------------------------------------------

whole = '''image process "plugin_host" { path = "a.plugin"; base = 0x6000000000; size = 0x10000; }
image process "plugin_host" { path = "b.plugin"; base = 0x6000004000; size = 0x10000; }
'''
write("overlap.rules", whole)
got = relog("silent.ptl", "overlap.rules", "overlap.ptl")
check("images that overlap are an error that names both", got.returncode == 3 and "overlap.rules:2:7: " in got.stderr and
      "a.plugin" in got.stderr and "b.plugin" in got.stderr, got.returncode, got.stderr)
check("and there is no output", not os.path.exists(path("overlap.ptl")))
got = relog("silent.ptl", "overlap.rules", "overlap.ptl", "--replace")
check("unless the later is to count", got.returncode == 0 and
      [i["path"] for i in lines("overlap.ptl", "images") if i["path"].endswith(".plugin")] == ["a.plugin", "b.plugin"],
      got.stderr)
libc = next(i for i in lines("silent.ptl", "images") if "libc" in i["path"])
write("libc.rules", f'image process "plugin_host" {{ path = "x"; base = {libc["base"]}; size = 4096; }}\n')
got = relog("silent.ptl", "libc.rules", "libc.ptl")
check("nor can the recorder's image be overlapped", got.returncode == 3 and "libc" in got.stderr and
      "libc.rules:1:7: " in got.stderr, got.stderr)

write("wrong.rules", "on any { drop; }\n\non process { set Nothing = 1; }\n")
got = relog("silent.ptl", "wrong.rules", "wrong.ptl")
check("a field that is not there", got.returncode == 0, got.stderr)  # dropped above: never met
write("wrong.rules", "# two lines\non process { set Nothing = 1; }\n")
os.remove(path("wrong.ptl"))
got = relog("silent.ptl", "wrong.rules", "wrong.ptl")
check("a rule that cannot be applied says where and leaves no output", got.returncode == 3 and
      "wrong.rules:2:18: expected a field of the event Process/Start, found 'Nothing'" in got.stderr and
      not os.path.exists(path("wrong.ptl")), got.stderr)
write("syntax.rules", "on any {\n\tdrop\n}\n")
got = relog("silent.ptl", "syntax.rules", "syntax.ptl")
check("nor does one that cannot be read", got.returncode == 3 and
      "syntax.rules:3:1: expected ';', found '}'" in got.stderr and not os.path.exists(path("syntax.ptl")), got.stderr)
write("missing.rules", 'image process "*" { path = "x"; base = 4096; size = 16; symbols = nm("none.sym"); }\n')
got = relog("silent.ptl", "missing.rules", "missing.ptl")
check("a symbol file that is not there", got.returncode == 4 and "missing.rules:1:70: " in got.stderr and
      "none.sym" in got.stderr, got.returncode, got.stderr)
write("useless.rules", "on any id 60000 { drop; }\n")
got = run(RELOG, "-f", "silent.ptl", "--rules", "useless.rules", "-o", "useless.ptl")
check("a rule that matches nothing is warned of", got.returncode == 0 and
      "useless.rules:1:4: this rule matched no event" in got.stderr and "a field" not in got.stderr, got.stderr)
check("and changes nothing", content("silent.ptl") == content("useless.ptl"))
write("slip.rules", "on process where ProcesId == 1 and has(Nothing) { drop; }\n")
got = run(RELOG, "-f", "silent.ptl", "--rules", "slip.rules", "-o", "slip.ptl")
check("so is a field that no event has", got.returncode == 0 and
      "slip.rules:1:18: no event of the trace has a field ProcesId" in got.stderr and "Nothing" not in got.stderr, got.stderr)
write("nowhere.rules", 'image process "plugin_hots" { path = "x"; base = 4096; size = 16; }\n'
      'image process "plugin_host" { path = "x"; base = 4096; size = 16; }\n')
got = run(RELOG, "-f", "silent.ptl", "--rules", "nowhere.rules", "-o", "nowhere.ptl")
check("an image that no process has is warned of", got.returncode == 0 and
      "nowhere.rules:1:7: this image was loaded in no process" in got.stderr and ":2:" not in got.stderr, got.stderr)
got = run(RELOG, "-q", "-f", "silent.ptl", "--rules", "useless.rules", "-o", "useless.rules")
check("a rule file is not the output", got.returncode == 2, got.returncode, got.stderr)
got = run(RELOG, "-q", "-f", "silent.ptl", "--replace", "-o", "x.ptl")
check("--replace wants rules", got.returncode == 2 and "--rules" in got.stderr, got.stderr)

# ---- events ---------------------------------------------------------------------------------------------

GUID = "5d1e4a7c-3b52-4f19-9a20-7c1d2e3f4a5b"
write("disk.txt", f'''machine source=qemu software=1 clock=1 start=1000 end=9000
process start pid=7 parent=0 time=1000 key=1 image=/build/x/bin/tool command=tool opcode=1
schema provider={GUID} id=1 version=0 opcode=0 provider_name=Disk event_name=Read task_name= opcode_name= fields=Sectors:5:0,Name:17:0,Last:7:0
event provider={GUID} id=1 version=0 opcode=0 level=4 pid=7 tid=7 time=2000 payload=080000006162000500000000000000
event provider={GUID} id=1 version=0 opcode=0 level=5 pid=7 tid=7 time=3000 payload=ffffffff00ffffffffffffffff
event provider={GUID} id=9 version=0 opcode=0 level=2 pid=7 tid=8 time=4000 payload=2a000000
''')
got = run(MAKE_SAMPLE, "disk.txt", "disk.ptl")
check("a sample", got.returncode == 0, got.stderr)
write("disk.rules", f'''provider "{GUID}" named "Disk" as disk;
schema disk id 9 "Error" {{ u32 Code; }}
rename "/build/*/bin/*" to "/usr/bin/$2";
on disk id 1 version 0 process "tool" where Name like "a*" {{
    set event.version = 100; set event.level = Sectors / 2; set Name = Name + "-" + str(Sectors * 512);
    add u64 Bytes = Sectors * 512; delete Sectors; }}
on disk id 1 level 5 {{ set Last = Last - 1; set event.time = event.time + 500; }}
on disk id 9 where Code == 42 and event.path == "/usr/bin/tool" {{
    thread start {{ tid = Code; name = "made of " + hex(Code); }}
    set event.tid = 99; set event.activity = "{GUID}"; set event.keyword = 0x8000000000000000; }}
''')
got = relog("disk.ptl", "disk.rules", "disk2.ptl")
check("events are rewritten", got.returncode == 0 and not got.stderr, got.stderr)
text = dump("disk2.ptl", "events")
for what, pattern in (
        ("fields are computed, added and deleted", r"Disk/Read .*Name=ab-4096 Last=5 Bytes=4096\n"),
        ("a number is set exactly", r"Sectors=4294967295 Name=(\"\")? Last=18446744073709551614\n"),
        ("an event gets a schema", r"Disk/Error .* 99 .*Code=42 activity="),
        ("an event makes a thread", r"Thread/Start .* 42 .*ThreadName=\"?made of 0x2a"),
        ("a path is renamed", r"ImageFileName=/usr/bin/tool ")):
    check(what, re.search(pattern, text), text)
got = relog("disk2.ptl", "disk.rules", "disk3.ptl")
check("twice is once, but for what says otherwise", re.search(r"Name=ab-4096 Last=5 Bytes=4096\n", dump("disk3.ptl", "events")),
      got.stderr, dump("disk3.ptl", "events"))
write("range.rules", f'provider "{GUID}" as disk;\non disk id 1 {{ set Sectors = Sectors + 4294967290; }}\n')
got = relog("disk.ptl", "range.rules", "range.ptl")
check("a number that does not fit is an error", got.returncode == 3 and
      "range.rules:2:38: expected a number of 0 to 4294967295 for the field Sectors, found another number" in got.stderr,
      got.stderr)

# An event with another number keeps its schema, and the names that the provider gives to values.
OTHER = "71b6b0a0-2a3c-4c5d-8e6f-0123456789ab"
write("kinds.txt", f'''machine source=qemu software=1 clock=1 start=1000 end=9000
process start pid=7 parent=0 time=1000 key=1 image=/bin/tool command=tool opcode=1
map provider={GUID} kind=0 name=Results entries=0:None,1:Wrong
schema provider={GUID} id=1 version=0 opcode=0 provider_name=Disk event_name=Read task_name= opcode_name= fields=Result:5:0:0:0:0:Results
schema provider={GUID} id=2 version=0 opcode=0 provider_name=Disk event_name=Write task_name= opcode_name= fields=Bytes:5:0
event provider={GUID} id=1 version=0 opcode=0 level=4 pid=7 tid=7 time=2000 payload=01000000
event provider={GUID} id=2 version=0 opcode=0 level=4 pid=7 tid=7 time=3000 payload=08000000
event provider={GUID} id=1 version=0 opcode=0 level=5 pid=7 tid=7 time=4000 payload=00000000
''')
got = run(MAKE_SAMPLE, "kinds.txt", "kinds.ptl")
check("a sample with names of values", got.returncode == 0, got.stderr)
check("the names are shown", "Disk/Read" in dump("kinds.ptl", "events") and "Result=Wrong" in dump("kinds.ptl", "events"),
      dump("kinds.ptl", "events"))
write("number.rules", f'provider "{GUID}" as disk;\non disk id 1 level 4 {{ set event.id = 70; set event.version = 3; }}\n')
write("provider.rules", f'provider "{GUID}" as disk;\nprovider "{OTHER}" named "Store" as store;\n'
                        'on disk { set event.provider = store; }\n')
for rules, first in (("number.rules", "Disk/Read"), ("provider.rules", "Store/Read")):
    got = relog("kinds.ptl", rules, "moved.ptl")
    text = dump("moved.ptl", "events")
    check(f"{rules}: the events keep names and fields", got.returncode == 0 and
          re.search(first + r" .*Result=Wrong\n(.*\n)*.*/Write .*Bytes=8\n(.*\n)*.*/Read .*Result=None\n", text), got, text)
got = relog("moved.ptl", "provider.rules", "twice.ptl")
check("a second time changes nothing", dump("twice.ptl", "events") == text and text.count("Store/") == 3, got, dump("twice.ptl", "events"))
write("same.rules", f'provider "{GUID}" as disk;\non disk id 1 {{ set event.id = 2; }}\n')
got = relog("kinds.ptl", "same.rules", "same.ptl")
check("the number of another event has that event's schema", got.returncode == 0 and dump("same.ptl", "events").count("/Write ") == 3, got)

# ---- arrays ---------------------------------------------------------------------------------------------

modules = b"".join(base.to_bytes(8, "little") + size.to_bytes(4, "little") + name + b"\0" for base, size, name in
                   ((0x10000, 4096, b"/x/one.plg"), (0x20000, 8192, b"/x/two.plg")))
write("loader.txt", f'''machine source=qemu software=1 clock=1 start=1000 end=9000
process start pid=7 parent=0 time=1000 key=1 image=/bin/tool command=tool opcode=1
event provider={GUID} id=3 version=0 opcode=0 level=4 pid=7 tid=7 time=2000 payload=0200{modules.hex()}
event provider={GUID} id=4 version=0 opcode=0 level=4 pid=7 tid=7 time=3000 payload=0200000101000407aabbccdd
''')
got = run(MAKE_SAMPLE, "loader.txt", "loader.ptl")
check("a sample with arrays", got.returncode == 0, got.stderr)
write("loader.rules", f'''provider "{GUID}" named "Loader" as loader;
schema loader id 3 "Modules" {{ struct Modules[counted] {{ pointer Base; u32 Size; utf8 Path; }} }}
schema loader id 4 "Sections" {{ struct Sections[counted] {{ u16 Rva; u8 Kind; }} u32 Rest; }}
on loader id 3 where any(i in Modules, Modules[i].Base == 0x20000) {{
    for i in Modules {{
        image load {{ base = Modules[i].Base; size = Modules[i].Size; path = Modules[i].Path; }}
        set Modules[i].Path = basename(Modules[i].Path) + " " + str(i);
    }} }}
on loader id 4 where count(i in Sections, Sections[i].Kind < 8) == 2 {{
    image load {{ base = 0x40000; size = 64K; path = "many"; section ".text" for s in Sections {{
        rva = Sections[s].Rva; size = 256; protection = rx; }} }} }}
''')
got = relog("loader.ptl", "loader.rules", "loader2.ptl")
seen = {(int(i["base"], 0), i["size"], os.path.basename(i["path"])) for i in lines("loader2.ptl", "images")}
text = dump("loader2.ptl", "events", "--provider", "Loader")
check("an image for each element", got.returncode == 0 and not got.stderr and
      {(0x10000, 4096, "one.plg"), (0x20000, 8192, "two.plg")} <= seen, got.stderr, seen)
check("a change of each", "one.plg 0" in text and "two.plg 1" in text, text)
check("a section for each", len([i for i in seen if i[2] == "many"]) == 2, seen)

plan()
