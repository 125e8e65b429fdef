#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump --slurm on Debian's own Slurm: one machine with several nodes. Jobs that are killed, and a node that goes down, cost
# time but no result. For make check-slurm: it starts munged, slurmctld and slurmd of its own.
import getpass
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

from scratch_test import DUMP, RECORD, check, path, plan, run, scratch, skip, write

PROGRAMS = os.environ["PTL_PROGRAMS"]
NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol")
os.environ["PATH"] += ":/usr/sbin:/sbin"
if not os.environ.get("PTL_SLURM"):
    skip("ptl-dump --slurm", "only with PTL_SLURM: make check-slurm")
    plan()
    sys.exit(0)
missing = [name for name in NEEDED if not shutil.which(name)]
if missing:
    skip("ptl-dump --slurm", f"there is no {' '.join(missing)}: make slurm-deps installs them")
    plan()
    sys.exit(0)
daemons = []


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def start(name, *command):
    with open(path(name + ".out"), "wb") as output:
        daemons.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=scratch))


def wait_until(what, seconds=120):
    for _ in range(seconds * 10):
        if what():
            return True
        time.sleep(0.1)
    return False


def configure():
    host, user = socket.gethostname().split(".")[0], getpass.getuser()
    control, *nodes = free_ports(4)
    for folder in ("state", "spool"):
        os.mkdir(path(folder))
    write("munge.key", os.urandom(1024))
    for name in ("munge.key", "state", "spool"):
        os.chmod(path(name), 0o600 if name == "munge.key" else 0o755)
    lines = [f"ClusterName=ptl{os.getpid()}", f"SlurmctldHost={host}(127.0.0.1)", f"SlurmctldPort={control}", f"SlurmUser={user}",
             f"SlurmdUser={user}", "AuthType=auth/munge", f"AuthInfo=socket={path('munge.socket')}",
             "CredType=cred/munge", "ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none",
             "SelectType=select/cons_tres", "JobAcctGatherType=jobacct_gather/none", "MpiDefault=none",
             f"StateSaveLocation={path('state')}", f"SlurmdSpoolDir={path('spool')}/%n",
             f"SlurmdPidFile={path('slurmd.%n.pid')}", f"SlurmctldPidFile={path('slurmctld.pid')}",
             f"SlurmdLogFile={path('slurmd.%n.log')}", f"SlurmctldLogFile={path('slurmctld.log')}",
             "ReturnToService=2", "SlurmdParameters=config_overrides", "SlurmdTimeout=20", "KillWait=2", "SchedulerParameters=sched_interval=1,batch_sched_delay=0"]
    for i, port in enumerate(nodes, 1):
        lines.append(f"NodeName=n{i} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 RealMemory=1000 State=UNKNOWN")
    lines += ["PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP",
              "PartitionName=other Nodes=n1 MaxTime=INFINITE State=UP"]
    write("slurm.conf", "\n".join(lines) + "\n")
    os.environ["SLURM_CONF"] = path("slurm.conf")


def states():
    return sorted(run("sinfo", "-h", "-N", "-p", "p", "-o", "%N %t").stdout.split("\n")[:-1])


def start_cluster():
    configure()
    start("munged", "munged", "-F", "--force", "--key-file", path("munge.key"), "--socket", path("munge.socket"),
          "--pid-file", path("munged.pid"), "--log-file", path("munged.log"), "--seed-file", path("munge.seed"))
    if not wait_until(lambda: os.path.exists(path("munge.socket"))):
        return False
    start("slurmctld", "slurmctld", "-D", "-i")
    for i in (1, 2, 3):
        start(f"slurmd{i}", "slurmd", "-D", "-N", f"n{i}")
    return wait_until(lambda: states() == ["n1 idle", "n2 idle", "n3 idle"], 60)


def stop_cluster():
    for daemon in reversed(daemons):
        daemon.terminate()
    for daemon in daemons:
        try:
            daemon.wait(20)
        except subprocess.TimeoutExpired:
            daemon.kill()


def active():
    """Jobs of the array that run, as (id, node)."""
    return [line.split() for line in run("squeue", "-h", "-r", "-t", "R", "-o", "%i %N").stdout.splitlines()]


def same(name, *command, options=(), files=("threads.ptl",), says=(), meanwhile=None):
    """The output and the exit status are those of one process."""
    whole = run(DUMP, *command, *files)
    helper = threading.Thread(target=meanwhile or (lambda: None))
    helper.start()
    merged = run(DUMP, *command, "--slurm", *options, *files, timeout=240)
    helper.join()
    check(name, whole.stdout and merged.stdout == whole.stdout and merged.returncode == whole.returncode and
          all(word in merged.stderr for word in says), merged.returncode, merged.stderr,
          len(whole.stdout), len(merged.stdout))


def left():
    return [name for name in os.listdir(scratch) if name.startswith("ptl-jobs-")]


def slowly(folder):
    """A ptl-dump whose shards take their time, so that something can happen to them."""
    write(f"{folder}/ptl-dump", f"#!/bin/sh\ncase $* in *--shard*) sleep 4 ;; esac\nexec {DUMP} \"$@\"\n")
    os.chmod(path(f"{folder}/ptl-dump"), 0o755)


def kill_one():
    """A job goes without its work done."""
    if wait_until(active):
        run("scancel", active()[0][0])


def fail_node():
    if wait_until(lambda: any(node == "n2" for _, node in active())):
        run("scontrol", "update", "nodename=n2", "state=down", "reason=test")


def tests():
    for name in ("threads", "signals"):
        run(RECORD, "-q", "-o", f"{name}.ptl", "--psb-period", "2K", "--", os.path.join(PROGRAMS, name))
    same("report in shards on several nodes", "report", options=("--shards", "5"))
    same("stats as JSON", "stats", "--json", options=("--shards", "3", "-q"))
    same("options pass through", "report", "--by", "thread",
         options=("--shards", "2", "--partition", "other", "--memory", "50M", "--time-limit", "5"))
    same("coverage of several traces, a job for each", "coverage", "--format", "lcov",
         files=("signals.ptl", "threads.ptl"))
    same("an exit status that is a finding", "lint", "--limit", "unresolved=0", options=("--shards", "2"))
    check("nothing is left in the folder", not left(), left())
    os.mkdir(path("slow"))
    slowly("slow")
    os.environ["PTL_DUMP"] = path("slow/ptl-dump")
    same("a job that is killed is submitted again", "report", options=("--shards", "3"), says=("submitted again",),
         meanwhile=kill_one)
    same("a node that goes down", "report", options=("--shards", "3"), says=("submitted again",), meanwhile=fail_node)
    run("scontrol", "update", "nodename=n2", "state=resume")
    write("slow/ptl-dump", f"#!/bin/sh\n{DUMP} \"$@\"\nstatus=$?\ncase $* in *--shard*) exit 9 ;; esac\nexit $status\n")
    same("jobs that fail when they have done their work", "report", options=("--shards", "2"), says=("merge",))
    write("slow/ptl-dump", "#!/bin/sh\necho no space >&2\nexit 4\n")
    done = run(DUMP, "report", "--slurm", "--shards", "2", "threads.ptl", timeout=240)
    check("jobs that always fail end it, with what they said", done.returncode == 4 and not done.stdout and
          "no space" in done.stderr and "1, 2" in done.stderr and left(), done.returncode, done.stderr, left())
    for folder in left():
        shutil.rmtree(path(folder))
    slowly("slow")
    waiting = subprocess.Popen([DUMP, "report", "--slurm", "--shards", "2", "threads.ptl"], cwd=scratch,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    wait_until(active)
    waiting.send_signal(signal.SIGINT)
    check("Ctrl-C cancels the jobs", waiting.wait(30) == -signal.SIGINT and wait_until(lambda: not active()) and
          not left(), waiting.returncode, active(), left())
    del os.environ["PTL_DUMP"]
    done = run(DUMP, "report", "--slurm", "--partition", "nowhere", "threads.ptl")
    check("what sbatch does not take is said", done.returncode == 4 and "nowhere" not in done.stdout and
          "sbatch" in done.stderr and "partition" in done.stderr and not left(), done.returncode, done.stderr, left())
    if os.geteuid() == 0 and shutil.which("unshare"):
        unshared()


def unshared():
    """Nodes whose /srv is another one."""
    for daemon in daemons[2:]:
        daemon.terminate()
        daemon.wait(20)
    del daemons[2:]
    os.mkdir(path("own"))
    for i in (1, 2, 3):
        start(f"slurmd{i}", "unshare", "-m", "sh", "-c",
              f"mount -t tmpfs none '{path('own')}' && exec slurmd -D -N n{i}")
    wait_until(lambda: states() == ["n1 idle", "n2 idle", "n3 idle"], 60)
    done = run(DUMP, "report", "--slurm", "--shards", "2", "--scratch", path("own"), "threads.ptl", timeout=240)
    check("a folder that nodes do not share is named", done.returncode == 4 and "--scratch" in done.stderr and
          path("own") in done.stderr, done.returncode, done.stderr)


os.environ.pop("PTL_SCRATCH", None)
try:
    if check("a cluster of three nodes is there", start_cluster(), states()):
        tests()
finally:
    stop_cluster()
plan()
