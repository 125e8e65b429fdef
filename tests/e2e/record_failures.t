#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# What ptl-record does when it, the command, or the file is taken away: messages, exit status, a readable trace.
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from record_test import (DUMP, RECORD, SCRATCH, Skip, dump, expect, expect_equal, lines, main, path, record, start,
                         stats, stats_of_cut, wait_for)

# Runs for a while without a system call, so that packets come all the time.
SPIN = "i=0; while [ $i -lt %d ]; do i=$((i+1)); done"


def size_of(name):
    return os.path.getsize(path(name)) if os.path.exists(path(name)) else 0


def wait_for_line(process):
    """The command says when it has begun."""
    return process.stdout.readline()


def ends(process):
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def alive(pid):
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def interrupt():
    """Ctrl-C ends the command, and the recorder with it"""
    process = start("-o", "a.ptl", "sh", "-c", "echo go; while :; do :; done")
    wait_for_line(process)
    os.killpg(process.pid, signal.SIGINT)
    status, _, err = ends(process)
    expect_equal(status, 130, err)
    expect_equal(stats("a.ptl")["gaps"], 0)
    expect("no losses" in err, err)


def interrupt_early():
    """Ctrl-C ends the command at any moment of the start, also before the program runs"""
    for source in "software", "none":
        for milliseconds in 2, 4, 6, 8, 10, 15, 20, 30, 40, 60:
            process = start("-q", "-f", "--source", source, "-o", "early.ptl", "--", "sleep", "60")
            time.sleep(milliseconds / 1000)
            os.killpg(process.pid, signal.SIGINT)
            try:
                _, err = process.communicate(timeout=30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                err = "the command runs on"
            # The signal is the recorder's end if the recorder does not catch signals yet.
            expect(process.returncode in (130, -signal.SIGINT) and "could not be traced" not in err,
                   "%s, %d ms: %s %s" % (source, milliseconds, process.returncode, err))


def interrupt_twice():
    """a second Ctrl-C ends the recording and leaves the command running"""
    os.mkfifo(path("gate"))
    process = start("-o", "a.ptl", "sh", "-c", "trap '' INT; echo $$; read line <gate; echo end >survived")
    child = int(wait_for_line(process))
    os.killpg(process.pid, signal.SIGINT)
    # Two that come before the recorder looks are one.
    expect(any("waiting for the command to end" in line for line in process.stderr), "the first one is not answered")
    time.sleep(0.5)
    expect(process.poll() is None, "the first one ended the recording")
    os.killpg(process.pid, signal.SIGINT)
    process.wait(timeout=120)
    expect_equal(process.returncode, 130)
    expect(alive(child), "the command did not live on")
    with open(path("gate"), "w", encoding="ascii") as gate:
        gate.write("\n")
    expect("the recording ended before the processes did" in dump("info", "a.ptl"))
    expect_equal(stats("a.ptl")["gaps"], 0)
    wait_for(lambda: os.path.exists(path("survived")), "the command's end")
    process.communicate()


def terminate():
    """SIGTERM is passed on to the command"""
    process = start("-o", "a.ptl", "sh", "-c", "trap 'echo caught; exit 9' TERM; echo go; while :; do :; done")
    wait_for_line(process)
    process.terminate()
    status, out, err = ends(process)
    expect_equal((status, out), (9, "caught\n"), err)
    expect_equal(stats("a.ptl")["gaps"], 0)


def killed_recorder():
    """a killed recorder leaves a readable file, and the command goes on"""
    process = start("-o", "a.ptl", "--flush-interval=50ms", "sh", "-c", "echo $$; until [ -e killed ]; do :; done; echo end >end")
    child = int(wait_for_line(process))
    wait_for(lambda: size_of("a.ptl") > 1100000, "the trace to grow")
    process.kill()
    process.wait()
    with open(path("killed"), "w", encoding="utf-8"):
        pass
    expect(stats_of_cut("a.ptl")["instructions"] > 10000, "nothing was decoded")
    expect_equal(json.loads(dump("info", "--json", "a.ptl", statuses=(0, 3)))["complete"], False)
    wait_for(lambda: os.path.exists(path("end")), "the command's end")
    wait_for(lambda: not alive(child), "the command's end")
    process.communicate()


def killed_anywhere():
    """whenever a recorder is killed, the file's processes are known, and all but the end decodes"""
    decoded = 0
    for size in (1000000, 1300000, 1700000, 2200000):
        process = start("-o", "a.ptl", "--force", "sh", "-c",
                        "while :; do gzip -1 </bin/ls >/dev/null; %s; done" % (SPIN % 5000))
        wait_for(lambda: size_of("a.ptl") > size, "a trace of %d bytes" % size)
        process.kill()
        process.wait()
        # The command goes on.
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        got = stats_of_cut("a.ptl")
        decoded += got["instructions"]
        for item in got["processes"]:
            expect(item["name"], "at", size, "bytes a process has no name:", item)
        threads = sum(len(item["threads"]) for item in got["processes"])
        expect(got["gaps"] <= threads, "at", size, "bytes there are", got["gaps"], "gaps in", threads, "threads")
        os.unlink(path("a.ptl"))
    expect(decoded > 10000, "nothing was decoded")


def killed_command():
    """a killed command's last packets are in the trace"""
    process = start("-o", "a.ptl", "sh", "-c", "echo $$; while :; do :; done")
    child = int(wait_for_line(process))
    time.sleep(0.3)
    os.kill(child, signal.SIGKILL)
    status, _, err = ends(process)
    expect_equal(status, 137, err)
    expect("no losses" in err, err)
    expect_equal(stats("a.ptl")["gaps"], 0)
    expect_equal(lines("processes", "a.ptl")[0]["wait_status"], 9)


def killed_grandchild():
    """so are those of a descendant that somebody killed"""
    done = record("-o", "a.ptl", "sh", "-c",
                  "sh -c 'while :; do :; done' & p=$!; sleep 0.3; kill -9 $p; wait $p; echo $?")
    expect_equal(done.stdout, "137\n", done.stderr)
    expect("no losses" in done.stderr, done.stderr)
    expect_equal(stats("a.ptl")["gaps"], 0)
    expect(9 in [item["wait_status"] for item in lines("processes", "a.ptl")], "its status is missing")


def full_disk():
    """when the disk is full, the command goes on, and what is lost is said"""
    os.mkdir(path("disk"))
    space = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-r", "-m"]
    script = "mount -t tmpfs -o size=1200k none disk || exit 99; %s -o disk/a.ptl --timing=cyc " \
             "--flush-interval=50ms sh -c '%s; echo ran'; status=$?; %s info disk/a.ptl; %s stats disk/a.ptl; " \
             "echo status $status $?" % (shlex.quote(RECORD), SPIN % 20000, shlex.quote(DUMP), shlex.quote(DUMP))
    done = subprocess.run([*space, "sh", "-c", script], cwd=SCRATCH, capture_output=True, text=True,
                          check=False, stdin=subprocess.DEVNULL)
    if not done.stdout and ("unshare" in done.stderr or done.returncode == 99):
        raise Skip("no right to mount a file system")
    expect(done.stdout.startswith("ran\n"), done.stdout, done.stderr)
    expect("No space left on device" in done.stderr and "are lost" in done.stderr, done.stderr)
    expect(re.search(r"^complete +NO: ", done.stdout, re.M), done.stdout)
    expect("status 4 " in done.stdout and re.search(r"^ *all ", done.stdout, re.M), done.stdout)


def vanished_folder():
    """a file that is removed while it is written is noticed"""
    os.mkdir(path("folder"))
    process = start("-o", "folder/a.ptl", "sh", "-c", "echo go; sleep 1.5")
    wait_for_line(process)
    shutil.rmtree(path("folder"))
    status, _, err = ends(process)
    expect_equal(status, 4, err)
    expect("a.ptl was removed while it is being recorded" in err and "cp /proc/" in err, err)


def reader_gone():
    """when the reader of a pipe goes away, the command goes on"""
    # The command runs until that has been said.
    script = "{ %s -o /dev/fd/3 -- sh -c 'until [ -e said ]; do :; done; echo end' 3>&1 >out 2>err; echo $? >status; } | " \
             "{ head -c 1000 >/dev/null; exec <&-; i=0; until grep -q 'goes on' err || [ $i -eq 600 ]; do sleep 0.1; i=$((i+1)); done; " \
             "touch said; }" % shlex.quote(RECORD)
    # The thread leaves the source's memory while the recorder takes this memory back.
    for _ in range(6):
        for name in "said", "out", "err", "status":
            if os.path.exists(path(name)):
                os.unlink(path(name))
        subprocess.run(["sh", "-c", script], cwd=SCRATCH, check=False, stdin=subprocess.DEVNULL, timeout=120)
        contents = {}
        for name in ("out", "err", "status"):
            with open(path(name)) as file:
                contents[name] = file.read()
        expect_equal((contents["out"], contents["status"]), ("end\n", "4\n"), contents["err"])
        expect("Broken pipe" in contents["err"] and "the command goes on" in contents["err"], contents["err"])


def waits_for_reader():
    """waiting for the reader of a FIFO ends by a signal, and nothing runs; a reader ends it, too"""
    os.mkfifo(path("fifo"))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        process = start("-o", "fifo", "--source=none", "sh", "-c", "echo ran")
        expect("waiting for a reader" in process.stderr.readline())
        process.send_signal(number)
        status, out, err = ends(process)
        expect_equal((status, out), (4, ""), number, err)
        expect("fifo: a signal came before a reader did" in err, err)
    process = start("-o", "fifo", "--source=none", "sh", "-c", "echo ran")
    process.stderr.readline()
    with open(path("fifo"), "rb") as reader, open(path("a.ptl"), "wb") as copy:
        shutil.copyfileobj(reader, copy)
    status, out, err = ends(process)
    expect_equal((status, out), (0, "ran\n"), err)
    size = re.search(r"fifo: ([0-9.]+) kB", err)
    expect(size and abs(float(size[1]) * 1000 - size_of("a.ptl")) < 100, err, size_of("a.ptl"))
    expect_equal(json.loads(dump("info", "--json", "a.ptl"))["complete"], True)


def foreign_outputs():
    """what another user has put where the trace would go is refused, unless --force and -o insist"""
    if os.geteuid():
        raise Skip("only root can be two users")
    os.mkdir(path("shared"))
    os.chmod(path("shared"), 0o1777)
    os.mkfifo(path("shared/fifo"))
    os.symlink("/dev/null", path("shared/link"))
    os.mkfifo(path("sh.ptl"))
    for name in ("shared/fifo", "shared/link", "sh.ptl"):
        os.chown(path(name), 54311, 54311, follow_symlinks=False)
    os.chmod(path("shared/fifo"), 0o666)
    for arguments, text in ((("-o", "shared/fifo"), "belongs to user 54311"), (("-o", "shared/link"), "is a link of user 54311"),
                            (("-o", "sh.ptl"), "sh.ptl belongs to user 54311"), (("--force",), "sh.ptl belongs to user 54311")):
        done = record(*arguments, "--source=none", "sh", "-c", "echo ran")
        expect_equal((done.returncode, done.stdout), (4, ""), arguments, done.stderr)
        expect(text in done.stderr, arguments, done.stderr)
    # One that is opened for reading as well has a reader.
    with open(path("shared/fifo"), "r+b", buffering=0):
        done = record("--force", "-o", "shared/fifo", "--source=none", "sh", "-c", "echo ran")
        expect_equal((done.returncode, done.stdout), (0, "ran\n"), done.stderr)
    # The default name is no place for a FIFO: the next number is free.
    for owner, name in ((54311, "sh.2.ptl"), (0, "sh.3.ptl")):
        os.chown(path("sh.ptl"), owner, owner)
        with open(path("sh.ptl"), "r+b", buffering=0):
            done = record("--source=none", "sh", "-c", "echo ran")
            expect_equal((done.returncode, done.stdout), (0, "ran\n"), done.stderr)
            expect(f"sh.ptl exists: the trace is {name}" in done.stderr and os.path.isfile(path(name)), done.stderr)


def no_proc():
    """without /proc nothing is recorded, which is said before anything runs"""
    if os.geteuid():
        raise Skip("only root can hide /proc")
    script = "mount -t tmpfs none /proc || exit 99; exec %s -o a.ptl --source=none -- sh -c 'echo ran'" % shlex.quote(RECORD)
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], cwd=SCRATCH, capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL)
    if done.returncode == 99 or (not done.stdout and "unshare" in done.stderr):
        raise Skip("no right to mount a file system")
    expect_equal((done.returncode, done.stdout), (4, ""), done.stderr)
    expect("/proc does not show this process" in done.stderr and not os.path.exists(path("a.ptl")), done.stderr)


def cannot_create():
    """a trace that cannot be created is said before anything runs"""
    for name, text in (("/nonexistent/a.ptl", "No such file or directory"), (".", "Is a directory"),
                       ("/dev/full", "No space left on device")):
        done = record("-o", name, "sh", "-c", "echo ran")
        expect_equal((done.returncode, done.stdout), (4, ""), name, done.stderr)
        expect(text in done.stderr, name, done.stderr)


def too_many_threads():
    """threads beyond the limit run, and are a loss"""
    done = record("-o", "a.ptl", "--threads=3", os.path.join(os.environ["PTL_PROGRAMS"], "thread_pool"))
    expect_equal(done.returncode, 0, done.stderr)
    expect("more threads at one time than --threads allows" in done.stderr, done.stderr)
    expect(re.search(r"\d threads? lost in 1 place: ", done.stderr), done.stderr)
    expect(stats("a.ptl")["instructions"] > 1000)


def threads_in_turn():
    """a thread waits for the recorder to be done with one that has ended, when there is room for no more"""
    # Python's join does not wait until the thread has ended.
    script = "import os, threading\nthere = len(os.listdir('/proc/self/task'))\nfor i in range(300):\n thread = threading.Thread(target=int)\n" \
        " thread.start()\n thread.join()\n while len(os.listdir('/proc/self/task')) > there: pass"
    done = record("-o", "a.ptl", "--threads=2", "/usr/bin/python3", "-S", "-c", script)
    expect_equal(done.returncode, 0, done.stderr)
    expect("301 threads; no losses" in done.stderr, done.stderr)


def events_of_who_runs():
    """where there is no Intel PT, how events of a running process are recorded is said"""
    for arguments, said in ((("--flags", "process"), True), ((), False)):
        done = record("-o", "a.ptl", "--pid", str(os.getpid()), *arguments, "--duration", "10ms")
        if "source intel_pt: " not in done.stderr:
            return
        expect_equal(done.returncode, 4, done.stderr)
        expect_equal("--only pid=PID" in done.stderr, said, done.stderr)


def no_zombies():
    """orphans of the command are waited for"""
    # One that has just ended is one until the recorder looks: only who stays one is not waited for.
    script = "echo $PPID; (sh -c 'sleep 0.1; : >one' & sh -c 'sleep 0.2; : >two' &); until [ -e one ] && [ -e two ]; do sleep 0.05; done; " \
        "i=0; while sleep 0.1; ps -eo stat=,ppid= >ps; grep -q \"^Z.* $PPID\\$\" ps && [ $i -lt 300 ]; do i=$((i + 1)); done; cat ps"
    done = record("-q", "-o", "a.ptl", "--wait", "sh", "-c", script)
    expect_equal(done.returncode, 0, done.stderr)
    # Of this recorder: other processes of the machine may have children that they have not waited for yet.
    recorder, *processes = done.stdout.splitlines()
    children = [line for line in processes if line.split()[1] == recorder]
    expect(children and not [line for line in children if line.startswith("Z")], done.stdout)


def progress_line():
    """a terminal that the command shares gets a progress line only with --progress"""
    if not shutil.which("script"):
        raise Skip("script(1) is not installed")
    shown = {}
    for option in ("", "--progress", "--no-progress", "--progress --quiet"):
        command = "%s --force -o %s %s sleep 1.2" % (shlex.quote(RECORD), shlex.quote(path("a.ptl")), option)
        done = subprocess.run(["script", "-qec", command, "/dev/null"], capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, env={**os.environ, "TERM": "xterm"})
        expect_equal(done.returncode, 0, done.stdout)
        shown[option] = "of PT, " in done.stdout and " stored  1 process " in done.stdout
    expect_equal(shown, {"": False, "--progress": True, "--no-progress": False, "--progress --quiet": False})


def progress_line_alone():
    """without a command the progress line is shown"""
    if not shutil.which("script"):
        raise Skip("script(1) is not installed")
    command = "%s -o %s -p '*' --attach-providers --duration=1.2s" % (shlex.quote(RECORD), shlex.quote(path("a.ptl")))
    done = subprocess.run(["script", "-qec", command, "/dev/null"], capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, env={**os.environ, "TERM": "xterm", "PTL_SESSION_DIR": path("own")})
    expect_equal(done.returncode, 0, done.stdout)
    expect(" stored  0 processes " in done.stdout, done.stdout)


def dies_of_signal():
    """a command that dies of a signal is reported as a shell does"""
    for name, text in (("SEGV", "Segmentation fault"), ("TERM", "Terminated"), ("INT", None), ("PIPE", None)):
        done = record("--force", "-o", "a.ptl", "sh", "-c", "ulimit -c 0; kill -%s $$" % name)
        expect_equal(done.returncode, 128 + signal.Signals["SIG" + name].value, done.stderr)
        expect_equal("ptl-record: warning: sh: " in done.stderr, text is not None, done.stderr)
        expect(text is None or "ptl-record: warning: sh: %s\n" % text in done.stderr, done.stderr)


def illegal_instruction():
    """a program dies of an illegal instruction as natively"""
    crash = [os.path.join(os.environ["PTL_PROGRAMS"], "illegal_instruction")]
    for source in "none", "software":
        done = record("-f", "-o", "b.ptl", "--source", source, *crash, "everywhere")
        expect_equal(done.returncode, 132, source, done.stderr)
        expect("Illegal instruction" in done.stderr, source, done.stderr)


TRACER = """
import ctypes, os, signal, sys
trace = ctypes.CDLL(None, use_errno=True).ptrace
trace.argtypes = [ctypes.c_long] * 4
TRACEME, CONT, SETOPTIONS = 0, 7, 0x4200
FORK_VFORK_CLONE = 2 | 4 | 8
first = os.fork()
if not first:
    trace(TRACEME, 0, 0, 0)
    os.kill(os.getpid(), signal.SIGSTOP)
    os.execv(sys.argv[1], sys.argv[1:])
os.waitpid(first, 0)
trace(SETOPTIONS, first, 0, FORK_VFORK_CLONE)
trace(CONT, first, 0, 0)
while True:
    pid, status = os.waitpid(-1, 0x40000000)
    if os.WIFSTOPPED(status):
        passed = os.WSTOPSIG(status)
        trace(CONT, pid, 0, 0 if passed in (signal.SIGTRAP, signal.SIGSTOP) else passed)
    elif pid == first:
        sys.exit(os.waitstatus_to_exitcode(status))
"""


def under_another_tracer():
    """below a tracer that follows children, as strace -f, the message says why nothing is recorded"""
    for options in [], ["--start-at", "main"]:
        done = subprocess.run([sys.executable, "-c", TRACER, RECORD, "-o", "traced.ptl", *options, "--", "/bin/true"], cwd=SCRATCH,
                              capture_output=True, text=True, check=False, timeout=60)
        expect_equal(done.returncode, 4, done.stderr)
        expect("cannot attach to /bin/true, as under strace -f or gdb, or where ptrace is forbidden: Operation not permitted" in
               done.stderr, done.stderr)
        expect(not os.path.exists(path("traced.ptl")), "a trace without packets is left")


def private_file():
    """a trace is for its owner alone, and the umask takes away more"""
    for mask, mode in ((0, 0o600), (0o022, 0o600), (0o277, 0o400)):
        done = subprocess.run(["sh", "-c", "umask %o; exec %s --force -o a.ptl true" % (mask, shlex.quote(RECORD))],
                              cwd=SCRATCH, capture_output=True, text=True, check=False)
        expect_equal(done.returncode, 0, done.stderr)
        expect_equal(oct(os.stat(path("a.ptl")).st_mode & 0o777), oct(mode))


def lists_nothing_else():
    """a list takes no operand"""
    for option in ("--list-sources", "--list-providers"):
        done = record(option, "foo")
        expect_equal((done.returncode, done.stdout), (2, ""), done.stderr)
        expect('unexpected "foo"' in done.stderr, done.stderr)


sys.exit(main([interrupt, interrupt_early, interrupt_twice, terminate, killed_recorder, killed_anywhere, killed_command,
               killed_grandchild, full_disk, vanished_folder, reader_gone, waits_for_reader, foreign_outputs, no_proc, cannot_create,
               too_many_threads, threads_in_turn, events_of_who_runs, no_zombies,
               progress_line, progress_line_alone, dies_of_signal, illegal_instruction, under_another_tracer,
               private_file,
               lists_nothing_else]))
