#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Programs that enter namespaces, with another /proc or none: all of their processes are recorded, with their names and exit statuses,
# under the ids that the recorder sees. The programs do what they do natively.
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from record_test import PROGRAMS, SCRATCH, RECORD, Skip, expect, expect_equal, lines, main, stats

OUTER = [] if os.geteuid() == 0 else ["unshare", "-r"]


def run_both(*command):
    """Runs a command natively and recorded; returns the recorded run."""
    if OUTER and subprocess.run([*OUTER, "true"], capture_output=True, check=False).returncode:
        raise Skip("namespaces are not permitted")
    options = {"cwd": SCRATCH, "capture_output": True, "text": True, "check": False, "stdin": subprocess.DEVNULL, "timeout": 120}
    native = subprocess.run([*OUTER, *command], **options)
    if native.returncode == 1 and ("ermitted" in native.stderr or "denied" in native.stderr or "No such" in native.stderr):
        raise Skip("namespaces are not permitted")
    done = subprocess.run([*OUTER, RECORD, "-f", "-o", "a.ptl", "--source=software", "--", *command], **options)
    expect_equal((done.stdout, done.returncode), (native.stdout, native.returncode), done.stderr)
    return done


def recorded(processes):
    """Checks the trace's processes: (name of the program, exit status) of each, in the order of their starts."""
    found = lines("processes", "a.ptl")
    expect_equal([(process["programs"][-1]["command_line"].split()[0] if process["programs"] else None,
                   process.get("exit_status", process.get("signal"))) for process in found], processes, found)
    pids = [process["pid"] for process in found]
    expect_equal(len(set(pids)), len(pids), found)
    for process in found[1:]:
        expect(process["parent_pid"] in pids, process, found)
        # Those of the namespace begin at 1.
        expect(process["pid"] > 10, process)
    expect_equal(stats("a.ptl")["gaps"], 0)


SCRIPT = """echo $$
sh -c 'exit 3'
sh -c 'kill -9 $$'
echo $?
exit 5"""
# Name and exit status, or signal, in the order of their starts.
INNER = [("sh", 5), ("sh", 3), ("sh", "SIGKILL")]


def pid_namespace():
    """a pid namespace with the old /proc"""
    done = run_both("unshare", "--pid", "--fork", "sh", "-c", SCRIPT)
    expect("no losses" in done.stderr, done.stderr)
    recorded([("unshare", 5), *INNER])


def mounted_proc():
    """a pid namespace with a /proc of its own"""
    done = run_both("unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", SCRIPT)
    expect("no losses" in done.stderr, done.stderr)
    recorded([("unshare", 5), *INNER])


def nested():
    """a pid namespace within another one"""
    done = run_both("unshare", "--pid", "--fork", "--mount-proc", "unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", SCRIPT)
    expect("no losses" in done.stderr, done.stderr)
    recorded([("unshare", 5), ("unshare", 5), *INNER])


def children_elsewhere():
    """a program whose children begin in a new pid namespace: its first child is the first process there"""
    done = run_both("unshare", "--pid", "sh", "-c", "sh -c 'echo $$'; echo $?; exit 2")
    expect("ran untraced: it cannot be traced" in done.stderr, done.stderr)


def closed_descriptors():
    """a program in a namespace closes all descriptors, and gets those numbers that are free natively"""
    run_both("unshare", "--mount", os.path.join(PROGRAMS, "system_corners"), "close_all")
    expect_equal(stats("a.ptl")["gaps"], 0)


def sandbox(*options):
    if not shutil.which("bwrap"):
        raise Skip("there is no bwrap")
    return run_both("bwrap", *options, "sh", "-c", SCRIPT)


def bubblewrap():
    """bubblewrap with a /proc of its own"""
    done = sandbox("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-pid")
    expect("no losses" in done.stderr, done.stderr)
    recorded([("bwrap", 5), ("bwrap", 5), *INNER])


def bubblewrap_all():
    """bubblewrap without any /proc, in all namespaces that there are"""
    sandbox("--ro-bind", "/usr", "/usr", "--symlink", "usr/lib64", "/lib64", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib",
            "--unshare-all")
    recorded([("bwrap", 5), ("bwrap", 5), *INNER])


sys.exit(main([pid_namespace, mounted_proc, nested, children_elsewhere, closed_descriptors, bubblewrap, bubblewrap_all]))
