#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump events, with events that a program with a provider has written: as the manual page shows them.
import atexit
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from record_test import PROGRAMS, dump, expect, expect_equal, lines, main, record

PAGE = os.path.join(os.path.dirname(os.environ["PTL_TESTS"]), "man", "ptl-dump.1")
PROVIDER = "Example-Authentication"
# A folder of our own, so that other recorders have nothing to do with ours.
FOLDER = os.path.join("/dev/shm", "ptl-test-%d" % os.getpid())
os.environ["PTL_SESSION_DIR"] = FOLDER
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
# The characters that the page writes otherwise.
ESCAPES = {r"\(:e": "ë", r"\(:u": "ü", r"\(:a": "ä", r"\(/L": "Ł"}


def record_example():
    done = record("-q", "-o", "auth.ptl", "--source=none", "--provider", PROVIDER, "--",
                  os.path.join(PROGRAMS, "authentication"))
    expect_equal((done.returncode, done.stdout, done.stderr), (0, "three events\n", ""))


def documented():
    """The lines of the manual page's example."""
    with open(PAGE, encoding="ascii") as file:
        text = re.sub(r"\\\[u([0-9A-F]{4})\]", lambda found: chr(int(found.group(1), 16)), file.read())
    for escape, character in ESCAPES.items():
        text = text.replace(escape, character)
    return [line for line in text.splitlines() if re.match(r" +\d+\.\d{6}  %s/" % PROVIDER, line)]


def stable(line):
    """Without time, process, thread and CPU."""
    line = re.sub(r"^ +\d+\.\d{6} ", "TIME ", line)
    return re.sub(r"  authentication \(\d+\) +\d+ cpu=\d+ ", "  PROCESS ", line)


def documented_example():
    """the three events of the authentication example print as the manual page says"""
    record_example()
    shown = dump("events", "--provider", PROVIDER, "auth.ptl").splitlines()
    expect_equal(len(documented()), 3)
    expect_equal([stable(line) for line in shown[1:]], [stable(line) for line in documented()])
    starts = [line.index("authentication (") for line in shown[1:]]
    expect_equal(starts, [shown[0].index("process")] * 3)


def typed_fields():
    """JSON has typed values, names of maps, and what belongs to the process"""
    record_example()
    succeeded, failed, denied = lines("events", "-p", PROVIDER, "auth.ptl")
    expect_equal(succeeded["fields"], {"User": "Zoë Müller", "Address": "192.0.2.7", "Session": 4711})
    expect_equal(failed["fields"]["Reason"], {"value": 1, "name": "wrong password"})
    expect_equal(denied["fields"]["Wanted"], {"value": 6, "name": "write|delete"})
    expect_equal(denied["fields"]["Audited"], True)
    expect_equal([event["level_name"] for event in (succeeded, failed, denied)], ["Informational", "Warning", "Error"])
    expect_equal([event["keywords"] for event in (succeeded, failed, denied)], [["SignIn"], ["SignIn"], ["Access"]])
    expect_equal({event["process"] for event in (succeeded, failed, denied)}, {"authentication"})
    expect(succeeded["time"] <= failed["time"] <= denied["time"])
    # The GUID that .NET's EventSource gives to this name.
    expect_equal(succeeded["provider_guid"], "3cebb0c9-f920-59c6-1cba-d28a3bf5fd39")


def filters():
    """filters find each of the three events"""
    record_example()
    for wanted, arguments in ((1, ("-w", 'User == "Zoë Müller"')), (2, ("-w", "Reason == 1 && Attempt >= 3")),
                              (3, ("-w", "Wanted & delete", "-w", "Audited == true")), (3, ("-k", "access")),
                              (2, ("--opcode", "failed")), (3, ("--task", "Access")), (3, ("--level", "error", "-p", "Ex*")),
                              (1, ("-e", "SignIn/Succeeded")), (2, ("-e", "2", "-p", "*auth*"))):
        expect_equal([event["id"] for event in lines("events", *arguments, "auth.ptl")], [wanted], arguments)


main([documented_example, typed_fields, filters])
