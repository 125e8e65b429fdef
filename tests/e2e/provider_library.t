#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# libptl-provider as its users have it: strict C11 and C++17, the shared library, modules, many processes that die.
import os
import shlex
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from record_test import PROGRAMS, RECORD, SCRATCH, expect, expect_equal, lines, main, path, record

ROOT = os.path.dirname(os.environ["PTL_TESTS"])
LIB = os.environ["PTL_LIB"]
FOLDER = os.path.join("/dev/shm", "ptl-test-library-%d" % os.getpid())
os.environ["PTL_SESSION_DIR"] = FOLDER
USER = 65534

C11 = """
#include <ptl/provider.h>
PTL_PROVIDER(strict, "Test-Strict");
PTL_EVENT(strict, empty, 1, "Empty", PTL_LEVEL_ALWAYS, 0, NULL);
PTL_EVENT(strict, some, 2, "Some", PTL_LEVEL_ERROR, 1, "{0}", PTL_UTF8(text), PTL_U16(number));
int main(void)
{
	if (ptl_provider_register(&strict))
		return 1;
	empty();
	some("caf\\xc3\\xa9", 3);
	ptl_provider_unregister(&strict);
	some("too late", 4);
	return 0;
}
"""


def events(name, provider):
    return [event for event in lines("events", name) if event["provider"] == provider]


def strict_c():
    """a C11 program with all warnings as errors, linked with the static and with the shared library"""
    with open(path("strict.c"), "w") as file:
        file.write(C11)
    compiler = [*(os.environ.get("CC") or "gcc").split(), "-std=c11", "-pedantic", "-Wall", "-Wextra", "-Wshadow", "-Wstrict-prototypes",
                "-Werror", "-I" + ROOT + "/format/include", "-I" + ROOT + "/provider/include", path("strict.c")]
    for name, libraries in (("static", [LIB + "/libptl-provider.a", "-pthread"]),
                            ("shared", ["-L" + LIB, "-Wl,-rpath," + LIB, "-lptl-provider"])):
        built = subprocess.run(compiler + ["-o", path(name)] + libraries, capture_output=True, text=True, check=False)
        expect_equal(built.returncode, 0, built.stderr)
        done = record("-q", "-f", "-o", "a.ptl", "--source=none", "-p", "test-strict", "--", path(name))
        expect_equal(done.returncode, 0, done.stderr)
        found = [(event["event"], event["fields"]) for event in events("a.ptl", "Test-Strict")]
        expect_equal(found, [("Empty", {}), ("Some", {"text": "café", "number": 3})])


def from_the_page():
    """what docs/providers.md begins with: as the user who runs the test, and as an unprivileged user"""
    with open(ROOT + "/docs/providers.md", encoding="utf-8") as file:
        text = file.read().split("```c\n")[1].split("```")[0]
    with open(path("shop.c"), "w", encoding="utf-8") as file:
        file.write(text)
    built = subprocess.run([*(os.environ.get("CC") or "gcc").split(), "-Wall", "-Wextra", "-Werror", "-I" + ROOT + "/format/include",
                            "-I" + ROOT + "/provider/include", "-o", path("shop"), path("shop.c"),
                            LIB + "/libptl-provider.a", "-pthread"], capture_output=True, text=True, check=False)
    expect_equal(built.returncode, 0, built.stderr)
    wanted = [("OrderPlaced", {"Customer": "Zoë", "Pieces": 3}), ("OutOfStock", {"Article": "teapots"})]
    for rule, count in (("MyCompany-Shop", wanted), ("MyCompany-Shop:warning", wanted[1:]),
                        ("MyCompany-Shop:all:0x2", wanted[1:]), ("*MyCompany-Shop", wanted)):
        done = record("-f", "-o", "shop.ptl", "--source", "none", "-p", rule, "--", "./shop")
        expect_equal(done.returncode, 0, done.stderr)
        expect("nothing answered" not in done.stderr, done.stderr)
        expect_equal([(event["event"], event["fields"]) for event in events("shop.ptl", "MyCompany-Shop")], count, rule)
    if os.geteuid() or not shutil.which("setpriv"):
        return
    # Its own folder: this one is the test's.
    os.mkdir(path("user"))
    os.chown(path("user"), USER, -1)
    os.chmod(SCRATCH, 0o755)
    try:
        become = ["setpriv", "--reuid=%d" % USER, "--clear-groups", "--inh-caps=-all"]
        # What setpriv itself runs may still be found with root's rights, what that runs no more.
        if subprocess.run([*become, "env", RECORD, "--version"], check=False, capture_output=True).returncode:
            return
        done = subprocess.run([*become, "env", "PTL_SESSION_DIR=" + path("user/folder"), RECORD, "-o", path("user/shop.ptl"),
                               "--source=none", "-p", "MyCompany-Shop", "--", path("shop")], capture_output=True, text=True,
                              check=False, cwd=path("user"))
        expect_equal(done.returncode, 0, done.stderr)
        found = [(event["event"], event["fields"]) for event in events("user/shop.ptl", "MyCompany-Shop")]
        expect_equal(found, wanted, done.stderr)
    finally:
        os.chmod(SCRATCH, 0o700)


def cxx():
    """a C++17 program: fields, activities of threads, a destructor at the end"""
    done = record("-q", "-o", "a.ptl", "--source=none", "-p", "*", "--", os.path.join(PROGRAMS, "events_cxx"))
    expect_equal(done.returncode, 0, done.stderr)
    found = events("a.ptl", "Example-Cxx")
    expect_equal([event["event"] for event in found if event["tid"] == event["pid"]], ["Texts", "Arrays", "Last"])
    expect_equal(found[0]["fields"]["utf16"], "李小龙")
    expect_equal(found[0]["fields"]["counted"], "Größe")
    threads = {}
    for event in found:
        if event["tid"] != event["pid"]:
            threads.setdefault(event["tid"], []).append(event)
    expect_equal(len(threads), 3)
    activities = set()
    for thread in threads.values():
        expect_equal(len(thread), 3)
        expect_equal(len({event["activity"] for event in thread}), 1)
        activities.add(thread[0]["activity"])
    expect_equal(len(activities), 3)
    # What is left out is asked for by the names that the provider gives to values.
    for where, count in (("day == 'Sunday'", 3), ("day like 'Mon*'", 0), ("day == 'Someday'", 0)):
        done = record("-q", "-f", "-o", "a.ptl", "--source=none", "-p", "*", "--only=where=" + where, "--",
                      os.path.join(PROGRAMS, "events_cxx"))
        expect_equal((done.returncode, len(events("a.ptl", "Example-Cxx"))), (0, count), where, done.stderr)
        expect_equal('expected a name such as "Monday", found "Someday"' in done.stderr, "Someday" in where, done.stderr)


def exports():
    """the shared library exports nothing but what its header declares"""
    symbols = subprocess.run(["nm", "-D", "--defined-only", LIB + "/libptl-provider.so.0"], capture_output=True, text=True,
                             check=True).stdout.split("\n")
    names = {line.split()[2].split("@")[0] for line in symbols if len(line.split()) == 3} - {"PTL_0"}
    expect_equal(names, {"ptl_activity_create", "ptl_activity_current", "ptl_activity_set", "ptl_emit", "ptl_emit_with",
                         "ptl_guid_from_name", "ptl_nothing_enabled", "ptl_provider_add_event", "ptl_provider_add_map",
                         "ptl_provider_register_arrays", "ptl_provider_set_group", "ptl_provider_unregister"})
    needed = subprocess.run(["readelf", "-d", LIB + "/libptl-provider.so.0"], capture_output=True, text=True,
                            check=True).stdout
    found = {line.split("[")[1].rstrip("]") for line in needed.splitlines() if "(NEEDED)" in line}
    expect(found <= {"libc.so.6", "ld-linux-x86-64.so.2"}, found)


def storm():
    """64 threads in 8 processes, some of which crash or are killed: each event is in the trace once, or counted"""
    writer = shlex.quote(os.path.join(PROGRAMS, "provider_writer"))
    ends = ["", "", "", "abort", "kill", "fork=300", "fork=300", "fork=300"]
    script = " ".join("%s threads=8,3000 count=100 %s &" % (writer, end) for end in ends) + " wait"
    done = record("-o", "a.ptl", "--source=none", "-p", "PTL-Test-Writer", "--provider-buffer=32K", "--", "sh", "-c", script)
    expect(done.returncode in (0, 134, 137), done.stderr)
    found = {}
    for event in events("a.ptl", "PTL-Test-Writer"):
        if event["event"] == "Number":
            found.setdefault((event["pid"], event["tid"]), []).append(event["fields"]["index"])
    expect_equal(len({pid for pid, _ in found}), 11)
    for key, values in found.items():
        expect_equal(values, sorted(set(values)), key)
    lost = sum(loss["count"] for loss in lines("info", "a.ptl")[0]["losses"])
    expect_equal(sum(map(len, found.values())) + lost, 8 * (8 * 3000 + 100) + 3 * 300)


status = main([strict_c, from_the_page, cxx, exports, storm])
subprocess.run(["rm", "-rf", FOLDER], check=False)
sys.exit(status)
