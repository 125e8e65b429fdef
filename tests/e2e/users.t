#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Users without privilege, and root: none reads, writes into, blocks or crashes the programs or the recorder of another;
# root alone sees the programs of all, whatever one of them does in the folder of its own;
# a set-user-ID program does not heed its caller's environment; what a program does to its rings harms no recorder.
import argparse
import ctypes
import json
import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import time

from scratch_test import BIN, check, path, plan, scratch, skip

WRITER = "PTL-Test-Writer"
NAMES = {"alice": 54311, "bob": 54312, "carol": 54313}
FOLDERS = {name: f"/dev/shm/ptl-{number}" for name, number in NAMES.items()}
place = path("open to all")


def user(name, *command):
    """The command of this user, who has nothing of root's."""
    number = str(NAMES[name])
    return ["setpriv", f"--reuid={number}", f"--regid={number}", "--clear-groups", "--inh-caps=-all", "--", *command]


def run(*command, **more):
    more = {"capture_output": True, "text": True, "timeout": 120, "check": False, "stdin": subprocess.DEVNULL, "cwd": place,
            "env": clean, **more}
    return subprocess.run(command, **more)


def start(*command, **more):
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=place,
                            **{"env": clean, **more})


def program(name, *words):
    """A program with providers that has said that it is ready."""
    process = start(*user(name, "./writer", "count=1", "say=ready", *words))
    assert process.stdout.readline() == "ready\n", process.stderr.read()
    return process


def finish(process):
    _, err = process.communicate("\n\n", timeout=120)
    return process.returncode, err


def files(folder):
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def forget():
    for folder in FOLDERS.values():
        if os.path.islink(folder):
            os.unlink(folder)
        shutil.rmtree(folder, ignore_errors=True)


def own_programs():
    """Each sees what is its own, and nothing else."""
    both = {name: program(name, "line") for name in NAMES}
    for name, process in both.items():
        other = next(entry for entry in NAMES if entry != name)
        shown = run(*user(name, "./ptl-record", "--list-providers"))
        check(f"{name} sees the own program alone", shown.returncode == 0 and str(process.pid) in shown.stdout and
              str(both[other].pid) not in shown.stdout, shown)
        reported = run(*user(name, "./ptl-record", "--list-providers"), env={**clean, "PTL_SESSION_DIR": FOLDERS[other]})
        check(f"{name} cannot name the other one's folder", reported.returncode == 4 and FOLDERS[other] in reported.stderr, reported)
        for command in (["ls", FOLDERS[other]], ["cat", *(os.path.join(FOLDERS[other], file) for file in files(FOLDERS[other]))],
                        ["touch", FOLDERS[other] + "/session.0.00000000000000aa"]):
            got = run(*user(name, *command))
            check(f"nor {command[0]} in it", got.returncode and "Permission denied" in got.stderr and not got.stdout, got)
        got = run(*user(name, "kill", "-0", str(both[other].pid)))
        check("nor signal what is in it", got.returncode != 0, got)
    reported = run("./ptl-record", "--list-providers", env={**clean, "PTL_SESSION_DIR": FOLDERS["bob"]})
    check("root does not take another's folder either", reported.returncode == 4 and "is not this user's alone" in reported.stderr, reported)
    os.mkdir(path("outs"))
    os.chmod(path("outs"), 0o1777)
    recorder = start(*user("alice", "./ptl-record", "-q", "-o", path("outs/a.ptl"), "-p", "*", "--attach-providers"))
    wait_for(lambda: turned_on(both["alice"]), "the recorder")
    for process in both.values():
        finish(process)
    recorder.send_signal(signal.SIGINT)
    _, err = recorder.communicate(timeout=120)
    shown = run("./ptl-dump", "processes", "--json", path("outs/a.ptl"))
    pids = {json.loads(line)["pid"] for line in shown.stdout.splitlines()}
    check("a recording has the own program alone", recorder.returncode == 0 and both["alice"].pid in pids and
          both["bob"].pid not in pids, err, pids)
    got = run(*user("bob", "cat", path("outs/a.ptl")))
    check("and nobody else can read it", "Permission denied" in got.stderr and not got.stdout, got)


def with_runtime_folder(what):
    """A folder of the user's own below /run/user, as logind makes it, is where her programs and her recorder meet then."""
    runtime = f"/run/user/{NAMES['alice']}"
    if os.path.lexists(runtime):
        skip(f"{what} in her name, with {runtime}", "somebody has it already")
        return
    os.makedirs("/run/user", exist_ok=True)
    os.mkdir(runtime, 0o700)
    os.chown(runtime, NAMES["alice"], NAMES["alice"])
    try:
        writer = program("alice", "line")
        reported = run(*user("alice", "./ptl-record", "--list-providers"))
        ended = finish(writer)
        check("with /run/user/UID, her recorder finds her program", reported.returncode == 0 and
              reported.stdout.count("\n") > 1, reported)
        check("which ends as it should", ended[0] == 0, ended)
    finally:
        shutil.rmtree(runtime, ignore_errors=True)


def squatters():
    """Who makes a folder in another's name gets nothing, and harms nobody's program."""
    folder = FOLDERS["alice"]
    for what, command in (("a folder", ["mkdir", "-m", "777", folder]), ("a link", ["ln", "-s", path("outs"), folder]),
                          ("a file", ["touch", folder])):
        forget()
        if os.path.exists(folder):
            os.unlink(folder)
        run(*user("bob", *command))
        before = files(path("outs"))
        # This program ends with 3 where it learns that its provider cannot be heard.
        done = run(*user("alice", "./writer", "count=1000"))
        check(f"{what} in her name does not hold her program up", done.returncode == 3, done)
        reported = run(*user("alice", "./ptl-record", "--list-providers"))
        check("her recorder says whose it is, and what to do", reported.returncode == 4 and folder in reported.stderr, reported)
        own = run(*user("alice", "./ptl-record", "--list-providers"), env={**clean, "PTL_SESSION_DIR": path("outs/alice")})
        check("and works in another folder", own.returncode == 0, own)
        shutil.rmtree(path("outs/alice"), ignore_errors=True)
        with_runtime_folder(what)
        check("nothing of hers is in it", files(path("outs")) == before and (what != "a folder" or not files(folder)),
              files(path("outs")), files(folder))
    if os.path.isfile(folder):
        os.unlink(folder)
    forget()


def set_user_id():
    """Alice's set-user-ID program, which Bob runs, with an environment that would have it write into a folder of his."""
    shutil.copy(os.path.join(place, "writer"), os.path.join(place, "privileged"))
    os.chown(os.path.join(place, "privileged"), NAMES["alice"], NAMES["alice"])
    os.chmod(os.path.join(place, "privileged"), 0o4755)
    if os.statvfs(place).f_flag & os.ST_NOSUID:
        skip("set-user-ID programs", "none works in " + os.path.dirname(scratch))
        return
    mine = path("outs/bob")
    for given in ({"PTL_SESSION_DIR": mine}, {"PTL_SESSION_DIR": mine, "PTL_SESSIONS": "1"}):
        forget()
        run(*user("bob", "mkdir", "-m", "700", "-p", mine))
        process = start(*user("bob", "./privileged", "count=1", "say=ready", "line", "count=1"), env={**clean, **given})
        process.stdout.readline()
        with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
            effective = next(line for line in file if line.startswith("Uid")).split()[2]
        check("it runs with her privilege", effective == str(NAMES["alice"]), effective)
        check("and is in her folder, not in his", not files(mine) and
              any(f".{process.pid}." in name for name in files(FOLDERS["alice"])), files(mine), files(FOLDERS["alice"]))
        shown = run(*user("bob", "./ptl-record", "--list-providers"), env={**clean, **given})
        check("so that his recorder does not see it", str(process.pid) not in shown.stdout, shown)
        finish(process)
    done = run(*user("bob", "./ptl-record", "-q", "-o", path("outs/b.ptl"), "--source=none", "-p", "*", "--", "./privileged",
                     "count=5"))
    shown = run("./ptl-dump", "events", path("outs/b.ptl"))
    check("a recording of his has none of its events", done.returncode == 0 and WRITER not in shown.stdout, done, shown.stdout)
    forget()


def wait_for(condition, what):
    """Until it is so: as long as the machine needs."""
    end = time.monotonic() + 300
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"waited in vain for {what}")
        time.sleep(0.01)


def turned_on(process):
    """Sessions that have the writer's provider in this process, as root sees them."""
    shown = run("./ptl-record", "--list-providers", "--json")
    for line in shown.stdout.splitlines():
        entry = json.loads(line)
        if entry["pid"] == process.pid:
            return {provider["name"]: provider["sessions"] for provider in entry["providers"]}.get(WRITER, [])
    return []


def session(*words):
    """A command to the named sessions of root."""
    return run("./ptl-record", *words, env={**clean, "XDG_RUNTIME_DIR": runtime})


def recorded(name):
    """pid -> numbers that it wrote"""
    result = {}
    for line in run("./ptl-dump", "events", "--json", name).stdout.splitlines():
        event = json.loads(line)
        if event.get("event") == "Number":
            result.setdefault(event["pid"], []).append(event["fields"]["index"])
    return result


def claim():
    """Bob's program says that it is process 1."""
    own = program("bob", "line")
    file = next(name for name in files(FOLDERS["bob"]) if name.startswith(f"process.{own.pid}."))
    with open(os.path.join(FOLDERS["bob"], file), "rb") as opened:
        process = bytearray(opened.read())
    struct.pack_into("<I", process, 12, 1)
    finish(own)
    put(f"process.1.{file.split('.')[2]}", bytes(process))
    shown = run("./ptl-record", "--list-providers", "--json")
    check("a program is not shown as what it claims to be", not shown.stdout, shown)
    done = run("./ptl-record", "-q", "-o", path("claim.ptl"), "-p", "*", "--attach-providers", "--duration=0.1s")
    check("and left out, which is said", done.returncode == 0 and "process 1 is not one of user" in done.stderr, done)


def put(name, content):
    """A file of bob's in his folder."""
    target = os.path.join(FOLDERS["bob"], name)
    with open(target, "wb") as opened:
        opened.write(content)
    os.chmod(target, 0o600)
    os.chown(target, NAMES["bob"], NAMES["bob"])


def nonsense():
    """What bob puts into his folder: whatever has the right name."""
    for number in range(100000, 106000):
        put(f"process.{number}.{number:016x}", b"nonsense")
    run(*user("bob", "mkfifo", FOLDERS["bob"] + "/process.3.0000000000000003"))
    for name in files(FOLDERS["alice"]):
        run(*user("bob", "ln", "-s", os.path.join(FOLDERS["alice"], name), FOLDERS["bob"]))


def all_users():
    """Root's session turns on, reads and turns off the providers of every user's programs."""
    claim()
    words = ("line", "count=1000", "say=ready", "line", "count=5")
    writers = {"alice": program("alice", *words)}
    shown = run("./ptl-record", "--list-providers")
    check("root sees the program of another", f"{writers['alice'].pid}  writer  (user {NAMES['alice']})" in shown.stdout, shown)
    nonsense()
    started = session("start", "everybody", "-o", path("all.ptl"))
    check("a session of root begins", started.returncode == 0, started)
    check("and turns nothing on that is not asked for", not turned_on(writers["alice"]), started)
    for rule in (WRITER, WRITER[:-1] + "*"):
        done = session("update", "everybody", "-p", rule)
        check("a program of another user answers to " + rule, done.returncode == 0 and not done.stdout + done.stderr, done)
    shown = run(*user("alice", "./ptl-record", "--list-providers"))
    check("who sees who has it", "on: ptl-record" in shown.stdout, shown)
    # One in a folder that is there, and one whose folder is made when she begins.
    writers["bob"], writers["carol"] = program("bob", *words), program("carol", *words)
    for name, process in writers.items():
        wait_for(lambda process=process: turned_on(process), "the provider of " + name)
        process.stdin.write("\n")
        process.stdin.flush()
        check(f"{name} writes", process.stdout.readline() == "ready\n")
    done = session("update", "everybody", "--disable", WRITER, "--disable", WRITER[:-1] + "*")
    check("nobody has it when it is turned off", done.returncode == 0 and not any(map(turned_on, writers.values())), done)
    for process in writers.values():
        finish(process)
    ended = session("stop", "everybody")
    check("the session ends", ended.returncode == 0, ended)
    check("it says what it left out", "are left out" in ended.stdout + ended.stderr, ended)
    found = recorded(path("all.ptl"))
    check("where the folder was there, from the first one on", len(found.get(writers["bob"].pid, [])) == 1001, found)
    check("it has what each of them wrote while it was on",
          {pid: numbers[-1000:] for pid, numbers in found.items()} ==
          {process.pid: list(range(1000)) for process in writers.values()},
          {pid: len(numbers) for pid, numbers in found.items()}, [process.pid for process in writers.values()])
    for name in NAMES:
        left = [file for file in files(FOLDERS[name]) if file.startswith(("session.", "rings.", ".new."))]
        check(f"nothing of it is left in the folder of {name}", not left, left)
    forget()


def descendants():
    """Of a command of root's, those who have become another user write into the trace, and nobody else does."""
    record = ["./ptl-record", "-f", "-o", path("become.ptl"), "--source=none", "-p", WRITER, "--"]
    for what in ("has no folder yet", "has one"):
        check(f"a user who {what}", os.path.isdir(FOLDERS["bob"]) == (what == "has one"))
        done = run(*record, "sh", "-c", "true; " + " ".join(user("bob", "./writer", "count=1000")))
        found = list(recorded(path("become.ptl")).values())
        check("writes all into a recording of root's command", done.returncode == 0 and found == [list(range(1000))] and
              "no losses" in done.stderr, done, [len(numbers) for numbers in found])
    # Two that are none: one that knows nothing of the recording, and one that was told.
    recorder = start(*record, *user("bob", "sh", "-c", "echo $PTL_SESSIONS; read line; exec env -i ./writer say=ready line count=7"))
    told = recorder.stdout.readline().strip()
    check("it is told a session", len(told) == 16, told)
    others = [program("bob", "line"), start(*user("bob", "./writer", "count=1", "say=ready", "line"), env={**clean, "PTL_SESSIONS": told})]
    others[1].stdout.readline()
    recorder.stdin.write("\n")
    recorder.stdin.flush()
    ready = recorder.stdout.readline()
    with open(f"/proc/{recorder.pid}/task/{recorder.pid}/children", encoding="ascii") as file:
        (child,) = map(int, file.read().split())
    child = argparse.Namespace(pid=child)
    wait_for(lambda: turned_on(child), "one without an environment")
    _, err = recorder.communicate("\n", timeout=120)
    found = recorded(path("become.ptl"))
    check("one that has given its environment up is found", ready == "ready\n" and found == {child.pid: list(range(7))}, found, err)
    check("one that was told, and is not the command's, is left out, which is said",
          f"process {others[1].pid} is no descendant of the command" in err, err)
    check("and one that was not is not heeded", not turned_on(others[0]) and str(others[0].pid) not in err, err)
    for process in others:
        finish(process)
    left = [file for file in files(FOLDERS["bob"]) if file.startswith(("session.", ".new."))]
    check("nothing of it is left", not left, left)
    forget()


def not_permitted():
    """What the kernel does not permit her is said each time that she asks for it, and nothing looks as if it were on."""
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as file:
        if int(file.read()) <= 0:
            skip("what is not permitted", "everybody may record the whole system")
            return
    mine = {**clean, "XDG_RUNTIME_DIR": path("outs/alice")}
    run(*user("alice", "mkdir", "-m", "700", mine["XDG_RUNTIME_DIR"]))
    started = run(*user("alice", "./ptl-record", "start", "hers", "-o", path("outs/hers.ptl"), "-p", WRITER), env=mine)
    for _ in range(2):
        done = run(*user("alice", "./ptl-record", "update", "hers", "-e", "page-faults"), env=mine)
        check("events of the whole system are refused", done.returncode == 4 and "perf_event_paranoid" in done.stderr, started, done)
    shown = run(*user("alice", "./ptl-record", "query", "hers", "--json"), env=mine)
    check("and are not on", shown.returncode == 0 and json.loads(shown.stdout)["tracepoints"] == [], shown)
    run(*user("alice", "./ptl-record", "stop", "hers"), env=mine)
    if not os.path.isdir("/sys/kernel/tracing/events"):
        skip("tracefs", "it is not mounted, as in many containers")
        return
    if run(*user("alice", "ls", "/sys/kernel/tracing/events")).returncode == 0:
        skip("tracefs", "everybody may read it")
        return
    done = run(*user("alice", "./ptl-record", "-o", path("outs/n.ptl"), "--source=none", "-e", "sched:sched_switch", "true"))
    check("she is told where it is said what to do", done.returncode == 4 and "ptl-record check" in done.stderr, done)
    shown = run(*user("alice", "./ptl-record", "--list-flags"))
    check("and why flags do not work", shown.returncode == 0 and "cswitch           0x00000010 no " in shown.stdout and
          "ptl-record check" in shown.stderr, shown)


def hostile_rings(recorder_of):
    """A program that writes anything into its rings while they are read."""
    generator = random.Random(5)
    writer = program("bob", "line", "threads=2,2000000", "line")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = ["./ptl-record", "-f", "-q", "-o", path("outs/h.ptl"), "-p", "*", "--attach-providers", "--duration=2s"]
    recorder = start(*(command if recorder_of == "root" else user(recorder_of, *command)))
    begin, damaged = time.monotonic(), 0
    writer.stdin.write("\n")
    writer.stdin.flush()
    while recorder.poll() is None and time.monotonic() - begin < 30:
        for name in files(FOLDERS["bob"]):
            if not name.startswith("rings."):
                continue
            try:
                with open(os.path.join(FOLDERS["bob"], name), "r+b") as file:
                    size = os.fstat(file.fileno()).st_size
                    # Positions, sizes, and what is in between: numbers that are nearly right, and any.
                    file.seek(generator.choice([0, 4096, 4096 + 64, generator.randrange(size)]) if size else 0)
                    file.write(generator.choice([b"\xff" * 64, bytes(64), generator.randbytes(4096)]))
                    damaged += 1
                    if time.monotonic() - begin > 1.5:
                        file.truncate(generator.randrange(8192))
            except FileNotFoundError:
                pass
        time.sleep(0.001)
    _, err = recorder.communicate(timeout=120)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
    check(f"a recorder of {recorder_of} outlives damaged rings", damaged > 20 and recorder.returncode in (0, 3, 4), damaged, recorder.returncode, err)
    check("and does not spin", seconds < 6, seconds, err)
    shown = run("./ptl-dump", "info", "--check", path("outs/h.ptl"))
    check("what it wrote can be read", shown.returncode in (0, 1) and "Traceback" not in shown.stderr, shown)
    writer.send_signal(signal.SIGKILL)
    writer.communicate()
    alone = program("bob", "line")
    check("and the next recorder works", str(alone.pid) in run(*user("bob", "./ptl-record", "--list-providers")).stdout)
    finish(alone)


clean = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
if os.geteuid() or subprocess.run(["setpriv", "--reuid=54311", "--clear-groups", "true"], check=False).returncode:
    skip("users", "only root can be two others")
else:
    # Shared memory of our own, where that can be had: nobody else's programs and recorders are seen or disturbed.
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x20000) == 0 and libc.mount(b"none", b"/", None, 0x44000, None) == 0:
        libc.mount(b"none", b"/dev/shm", b"tmpfs", 0, b"mode=1777")
    os.chmod(scratch, 0o755)
    os.mkdir(place)
    runtime = path("sockets")
    os.mkdir(runtime, 0o700)
    for source, name in ((os.path.join(os.environ["PTL_PROGRAMS"], "provider_writer"), "writer"),
                         (os.path.join(BIN, "ptl-record"), "ptl-record"), (os.path.join(BIN, "ptl-dump"), "ptl-dump")):
        shutil.copy(source, os.path.join(place, name))
        os.chmod(os.path.join(place, name), 0o755)
    os.chmod(place, 0o755)
    forget()
    try:
        own_programs()
        squatters()
        set_user_id()
        all_users()
        descendants()
        not_permitted()
        hostile_rings("bob")
        hostile_rings("root")
    finally:
        session("stop", "everybody")
        forget()
plan()
