#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-record runs a command as if it were not there, and its trace tells what ran.
import os
import shlex
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from record_test import (DUMP, PROGRAMS, RECORD, SCRATCH, Skip, dump, expect, expect_equal, lines, main, path, record,
                         stats)

NO_HOST = {"PATH": os.environ["PATH"], "HOME": "/", "LC_ALL": "C"}


def write_script(name, text):
    with open(path(name), "w") as file:
        file.write(text)
    os.chmod(path(name), 0o755)
    return path(name)


def exit_statuses():
    """the exit status is the command's, or 128 and its signal"""
    for command, status in (("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143), ("kill -KILL $$", 137),
                            ("exit 255", 255)):
        done = record("-q", "-f", "-o", "a.ptl", "--", "sh", "-c", command)
        expect_equal(done.returncode, status, command, done.stderr)
    expect_equal(record("-o", "b.ptl", "no-such-command").returncode, 127)
    expect_equal(record("-o", "b.ptl", "/").returncode, 126)
    expect(not os.path.exists(path("b.ptl")), "a trace was made of no command")


def streams():
    """standard streams are the command's"""
    data = os.urandom(300000)
    done = subprocess.run([RECORD, "-q", "-o", path("a.ptl"), "cat"], input=data, capture_output=True, check=False)
    expect(done.stdout == data, "cat's output differs")
    expect_equal(done.stderr, b"")
    done = record("-o", "b.ptl", "sh", "-c", "echo out; echo err >&2")
    expect_equal(done.stdout, "out\n")
    expect("err\n" in done.stderr, done.stderr)
    expect("b.ptl:" in done.stderr and "1 process" in done.stderr and "no losses" in done.stderr, done.stderr)


def surroundings():
    """arguments, environment, folder and descriptors reach the command unchanged"""
    script = "import os, sys; print(sys.argv[1:], os.getcwd(), sorted(os.environ.items()), " \
             "[fd for fd in range(20) if os.path.exists('/dev/fd/%d' % fd) and fd != 3])"
    command = [sys.executable, "-S", "-E", "-c", script, "a b", "", "--x", "'"]
    native = subprocess.run(command, cwd=SCRATCH, env=NO_HOST, capture_output=True, text=True, check=True,
                            stdin=subprocess.DEVNULL)
    done = record("-q", "-o", "a.ptl", "--", *command, env=NO_HOST)
    expect_equal(done.stdout, native.stdout)


def forks():
    """a program may fork while its threads begin and end"""
    for options in (), ("--per-cpu=2",):
        done = record("-f", "-o", "a.ptl", *options, os.path.join(PROGRAMS, "fork_in_threads"))
        expect_equal(done.returncode, 0, done.stderr)
        expect("no losses" in done.stderr, done.stderr)
        expect_equal(stats("a.ptl")["gaps"], 0)
        expect_equal(sorted(process["wait_status"] for process in lines("processes", "a.ptl")), [0] + [256 * i for i in range(15)])


def shut_in():
    """threads and children are recorded of a program that has no descriptor left, or no /proc"""
    os.mkdir(path("empty"))
    for place in "descriptors", path("empty"):
        done = record("-f", "-o", "a.ptl", os.path.join(PROGRAMS, "shut_in"), place)
        if done.returncode == 77 and place != "descriptors":
            continue  # this user changes no root
        expect_equal(done.returncode, 0, place, done.stderr)
        expect("2 processes, 3 threads; no losses" in done.stderr, place, done.stderr)
        expect_equal(sorted(process["exit_status"] for process in lines("processes", "a.ptl")), [0, 3], place)


def default_name():
    """without -o the trace is named after the command"""
    done = record("-q", "/bin/true")
    expect_equal(done.returncode, 0, done.stderr)
    expect(os.path.exists(path("true.ptl")), os.listdir(SCRATCH))
    done = record("-q", "-o", "true.ptl", "/bin/true")
    expect_equal(done.returncode, 4)
    expect_equal(done.stderr, "ptl-record: error: true.ptl exists; -f replaces it, -o names another\n")
    before = os.stat(path("true.ptl")).st_ino
    for number in 2, 3:
        done = record("/bin/true")
        expect_equal(done.returncode, 0, done.stderr)
        expect("true.ptl exists: the trace is true.%d.ptl" % number in done.stderr, done.stderr)
        expect(os.path.exists(path("true.%d.ptl" % number)), os.listdir(SCRATCH))
    expect_equal(os.stat(path("true.ptl")).st_ino, before)
    expect_equal(record("-q", "--force", "/bin/true").returncode, 0)
    expect(not os.path.exists(path("true.4.ptl")), os.listdir(SCRATCH))


def process_tree():
    """processes, their parents, command lines and ends are in the trace"""
    write_script("inner", "#!/bin/sh\nexit 3\n")
    script = write_script("outer", "#!/bin/sh -e\n./inner one 'two three' || echo $?\n(exit 4) || true\nls / | wc -l\n")
    done = record("-q", "-o", "a.ptl", "./outer", "x")
    expect_equal(done.returncode, 0, done.stderr)
    processes = lines("processes", "a.ptl")
    by_command = {process["command_line"]: process for process in processes}
    outer = processes[0]
    expect_equal((outer["command_line"], outer["exit_status"]), ("/bin/sh -e ./outer x", 0))
    inner = by_command["/bin/sh ./inner one 'two three'"]
    expect_equal((inner["parent_pid"], inner["exit_status"]), (outer["pid"], 3))
    expect_equal([program["path"] for program in inner["programs"]][1:], [os.path.realpath("/bin/sh")], script)
    expect_equal(by_command["wc -l"]["parent_pid"], outer["pid"])
    expect(any(process["exit_status"] == 4 for process in processes), "the subshell's end is missing")
    expect(all(process["end"] >= process["start"] for process in processes), processes)
    expect_equal(stats("a.ptl")["gaps"], 0)


def without_binaries():
    """a trace decodes to the same when the programs are gone"""
    shutil.copy("/bin/ls", path("copy"))
    expect_equal(record("-q", "-o", "a.ptl", "./copy", "/").returncode, 0)
    before = dump("flow", "a.ptl")
    os.unlink(path("copy"))
    expect("copy" in before, before[:300])
    expect(dump("flow", "a.ptl") == before, "the flow differs")
    expect_equal(stats("a.ptl")["gaps"], 0)


def embed():
    """--embed decides what travels in the trace"""
    wanted = {"none": (False, False), "code": (True, False), "symbols": (True, True), "debug": (True, True)}
    program = os.path.join(os.environ["PTL_PROGRAMS"], "branches")
    for what, (code, symbols) in wanted.items():
        done = record("-q", "-o", what + ".ptl", "--embed=" + what, program)
        expect_equal(done.returncode, 0, done.stderr)
        own = [image for image in lines("images", what + ".ptl") if image["path"].endswith("/branches")]
        expect_equal(len(own), 1, what)
        expect_equal((own[0]["code_stored"], own[0]["symbols"] is not None), (code, symbols), what)
        expect_equal(own[0]["debug"] is not None, what == "debug", what)


def scripts_and_texts():
    """#! lines are followed, and a text without one is the shell's"""
    write_script("text", "echo text $1\n")
    # Its name may have no blank, which the folder's may have.
    write_script("interpreter", "#!/bin/sh\necho interpreter $2 $3\n")
    write_script("nested", "#!./interpreter x\n")
    expect_equal(record("-q", "-o", "a.ptl", "./text", "y").stdout, "text y\n")
    expect_equal(record("-q", "-o", "b.ptl", "./nested", "y").stdout, "interpreter ./nested y\n")


def reproducible():
    """with the virtual clock two runs give the same packets"""
    hashes = []
    for name in ("a.ptl", "b.ptl"):
        done = record("-q", "-o", name, "--clock=virtual", "--timing=cyc", "/bin/echo", "x", env=NO_HOST)
        expect_equal(done.returncode, 0, done.stderr)
        packets = dump("packets", name)
        hashes.append([line for line in packets.splitlines() if not line.startswith("stream")])
    expect(hashes[0] == hashes[1] and len(hashes[0]) > 100, "the packets differ")


def pipe():
    """a trace can be written to a pipe, which the command does not hold open"""
    done = subprocess.run("%s -q -o /dev/fd/3 -- sh -c 'ls /dev/fd' 3>&1 >%s | %s stats --json -"
                          % tuple(map(shlex.quote, (RECORD, path("out"), DUMP))), shell=True, cwd=SCRATCH, capture_output=True, text=True,
                          check=False, stdin=subprocess.DEVNULL)
    expect_equal(done.returncode, 0, done.stderr)
    expect('"gaps":0' in done.stdout, done.stdout, done.stderr)
    with open(path("out")) as file:
        # 3 is the folder that ls itself reads.
        expect_equal(file.read().split(), ["0", "1", "2", "3"])


def background():
    """descendants that outlive the command are a loss, unless --wait records them"""
    os.mkfifo(path("gate"))
    done = record("-o", "a.ptl", "sh", "-c", "(exec >/dev/null 2>&1; read line <gate) &")
    with open(path("gate"), "w", encoding="ascii"):
        pass
    expect_equal(done.returncode, 0, done.stderr)
    expect("1 process of the command still runs" in done.stderr and "--wait" in done.stderr, done.stderr)
    expect("the recording ended before the processes did" in dump("info", "a.ptl"), dump("info", "a.ptl"))
    expect_equal(stats("a.ptl")["gaps"], 0)
    done = record("-o", "b.ptl", "--wait", "sh", "-c", "(sleep 1; exit 5) >/dev/null 2>&1 &")
    expect("no losses" in done.stderr, done.stderr)
    expect(5 in [process["exit_status"] for process in lines("processes", "b.ptl")], "the last exit status is missing")


def not_followed():
    """a program that cannot be followed runs, and is a loss"""
    shutil.copy("/bin/echo", path("secret"))
    os.chmod(path("secret"), 0o111)
    if os.access(path("secret"), os.R_OK):
        with open(path("foreign"), "wb") as file:
            file.write(b"\x7fELF\x01\x01\x01" + bytes(200))
        os.chmod(path("foreign"), 0o755)
        done = record("-o", "a.ptl", "sh", "-c", "./foreign; true")
        expect_equal(done.returncode, 0, done.stderr)
        expect("no losses" in done.stderr, "an exec that failed counts as a loss:", done.stderr)
        raise Skip("root can read every file")
    done = record("-o", "a.ptl", "sh", "-c", "./secret hello; true")
    expect_equal(done.stdout, "hello\n")
    expect("it may be executed but not read" in dump("info", "a.ptl"), done.stderr)
    expect("1 process lost in 1 place: " in done.stderr, done.stderr)
    expect_equal(lines("processes", "a.ptl")[1]["programs"][-1]["path"], path("secret"))


def not_followed_name():
    """a program that was not followed names its process all the same"""
    if os.geteuid():
        raise Skip("only root can become somebody else")
    done = record("-o", "a.ptl", "sh", "-c", "setpriv --reuid=65534 sh -c 'echo hello' one; true")
    expect_equal(done.stdout, "hello\n", done.stderr)
    child = lines("processes", "a.ptl")[1]
    expect_equal(child["programs"][-1]["path"], os.path.realpath("/bin/sh"), child)
    expect_equal(child["programs"][-1]["command_line"], "sh -c 'echo hello' one", child)
    expect("ran untraced: it may not open the recorder's memory" in done.stderr, done.stderr)
    expect_equal(stats("a.ptl")["gaps"], 0)


def pid_namespace():
    """in a pid namespace processes are followed, under the ids that the recorder sees"""
    space = ["unshare", "-p", "-f"]
    # A user who is not root is root in a namespace.
    outer = [] if os.geteuid() == 0 else ["unshare", "-r"]
    if subprocess.run([*outer, *space, "true"], check=False, capture_output=True).returncode:
        raise Skip("no right to make a pid namespace")

    def record_as_root(*arguments):
        return subprocess.run([*outer, RECORD, *arguments], cwd=SCRATCH, capture_output=True, text=True, errors="replace",
                              check=False, stdin=subprocess.DEVNULL, timeout=120)

    done = record_as_root("-o", "a.ptl", *space, "sh", "-c", "echo $$; true; sh -c 'exit 3'")
    expect_equal((done.stdout, done.returncode), ("1\n", 3), done.stderr)
    expect("no losses" in done.stderr, done.stderr)
    processes = lines("processes", "a.ptl")
    expect_equal([process["exit_status"] for process in processes], [3, 3, 3], processes)
    for parent, child in zip(processes, processes[1:]):
        expect_equal(child["parent_pid"], parent["pid"], processes)
        expect(child["pid"] > 2, processes)
    expect_equal(stats("a.ptl")["gaps"], 0)


def pid_namespace_with_proc():
    """a program that mounts /proc again in a pid namespace is followed, too"""
    outer = [] if os.geteuid() == 0 else ["unshare", "-r"]
    space = ["unshare", "-p", "-f", "--mount-proc"]
    if subprocess.run([*outer, *space, "true"], check=False, capture_output=True).returncode:
        raise Skip("no right to mount /proc")
    done = subprocess.run([*outer, RECORD, "-o", "a.ptl", *space, "sh", "-c", "echo $$"], cwd=SCRATCH, capture_output=True,
                          text=True, errors="replace", check=False, stdin=subprocess.DEVNULL, timeout=120)
    expect_equal((done.stdout, done.returncode), ("1\n", 0), done.stderr)
    expect("no losses" in done.stderr, done.stderr)


def set_user_id():
    """that a set-user-ID program has no privileges here is said, and recorded"""
    def said(done, text):
        expect("warning: process " in done.stderr and text in done.stderr, done.stderr)
        notes = [event for event in lines("events", "a.ptl") if event["provider"] == "PTL-Record"]
        expect_equal([(note["event"], note["fields"]["Text"]) for note in notes], [("Note", text)])

    shutil.copy("/bin/true", path("raised"))
    os.chmod(path("raised"), 0o4755)
    done = record("-o", "a.ptl", "./raised")
    expect("is set-user-ID" not in done.stderr, "a program of our own has what it needs:", done.stderr)
    if os.geteuid():
        raise Skip("only root can make a program of somebody else")
    os.chown(path("raised"), 65534, -1)
    os.chmod(path("raised"), 0o4755)
    # The privileges of root suffice to give them to a program that is traced: the program cannot open root's memory then.
    done = record("-f", "-o", "a.ptl", "--source=software", "./raised")
    expect_equal(done.returncode, 4, done.stderr)
    expect("./raised is set-user-ID or set-group-ID: it ran untraced (its exit status was 0)" in done.stderr, done.stderr)
    # A user's do not.
    os.chown(path("raised"), 0, -1)
    os.chmod(path("raised"), 0o4755)
    os.chmod(SCRATCH, 0o777)
    done = subprocess.run(["setpriv", "--reuid=65534", RECORD, "-f", "-o", "user.ptl", "--source=software", "./raised"], cwd=SCRATCH,
                          capture_output=True, text=True, errors="replace", check=False, stdin=subprocess.DEVNULL)
    os.chmod(SCRATCH, 0o700)
    os.rename(path("user.ptl"), path("a.ptl"))
    said(done, path("raised") + " is set-user-ID: recorded, it runs without its privileges")


def thread_names():
    """threads have the names that they or others gave them"""
    program = os.path.join(os.environ["PTL_PROGRAMS"], "thread_names")
    expected = ["main-renamed", "by-prctl", "by-pthread", "by-another", "by-another"]
    done = record("-o", "a.ptl", program)
    expect_equal(done.returncode, 0, done.stderr)
    threads = lines("processes", "--threads", "a.ptl")[0]["threads"]
    expect_equal([thread["name"] for thread in threads], expected, threads)
    expect_equal(stats("a.ptl")["gaps"], 0)


def provenance():
    """the trace says how it was made, and that its packets are software's"""
    record("-q", "-o", "a.ptl", "--timing=tsc", "--no-retcomp", "--psb-period=4K", "true")
    text = dump("info", "a.ptl")
    for part in ("ptl-record", "--timing=tsc --no-retcomp --psb-period=4K true"):
        expect(part in text, part, text)
    info = lines("info", "a.ptl")[0]
    expect_equal((info["software"], info["source"], info["complete"]), (True, "software", True))
    expect_equal((info["pt"]["timing"], info["pt"]["return_compression"], info["pt"]["psb_period"]),
                 ("tsc", False, 4096))


def sources():
    """--list-sources says what works, and why the rest does not"""
    done = record("--list-sources")
    expect_equal((done.returncode, done.stderr), (0, ""))
    expect("software   works" in done.stdout and "qemu" not in done.stdout, done.stdout)
    if not os.path.exists("/sys/bus/event_source/devices/intel_pt"):
        expect("intel_pt   no" in done.stdout and "why: this machine has no Intel PT" in done.stdout, done.stdout)
    done = record("-o", "a.ptl", "--source=intel_pt", "true")
    expect_equal(done.returncode, 4)
    expect("source intel_pt:" in done.stderr, done.stderr)
    # What was there once names what takes its place.
    for option, text in (("--source=qemu", "is not one of auto, software, intel_pt or none"), ("--truth=a", "no option --truth"), ("--qemu=a", "no option --qemu")):
        done = record("-o", "a.ptl", option, "true")
        expect_equal(done.returncode, 2, done.stderr)
        expect(text in done.stderr, done.stderr)
    expect(not os.path.exists(path("a.ptl")), "a trace was made by no source")


def wrong_options():
    """a wrong command line is explained"""
    for arguments, text in (([], "no command to record"),
                            (["--buffer=100K", "true"], "a power of two"),
                            (["--psb-period=1", "true"], "from 128 to 1G"), (["--bogus", "true"], "no option --bogus"),
                            (["--timing=fast", "true"], "none, tsc, mtc or cyc"), (["-o", "", "true"], "missing"),
                            (["--compress=99", "true"], "at most 19")):
        done = record(*arguments)
        expect_equal((done.returncode, done.stdout), (2, ""), arguments)
        expect(text in done.stderr, arguments, done.stderr)
        expect("try: ptl-record --" in done.stderr, done.stderr)


sys.exit(main([exit_statuses, streams, surroundings, forks, shut_in, default_name, process_tree, without_binaries, embed,
               scripts_and_texts, reproducible, pipe, background, not_followed, not_followed_name, pid_namespace,
               pid_namespace_with_proc, set_user_id, thread_names, provenance, sources, wrong_options]))
