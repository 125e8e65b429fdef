# SPDX-License-Identifier: BSD-2-Clause
# Measures recorders of kernel events under the same load: ptl-record, perf record, trace-cmd.
"""load_bench.py [--json] [--quick] [--seconds N] [--rate N] [--runs N]

The load, testdata/programs/kernel_load, makes the same number of events at the same rate for each recorder: system calls (a million
per second, or --rate), and switches between two threads (four tenths of the rate). CPU time is user and system time of the recorder
and its children, without the load, per kept event; the run with the minimum counts. Recorders run alternately. Lost events are
events of the load that the file lacks. Needs root. Recorders that are not installed are skipped, with a message.
"""
import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
BIN = os.path.abspath(os.environ.get("PTL_BIN", "build/bin"))
RECORD, DUMP = os.path.join(BIN, "ptl-record"), os.path.join(BIN, "ptl-dump")
LOAD = os.path.join(os.path.abspath(os.environ.get("PTL_PROGRAMS", "build/programs")), "kernel_load")
# trace-cmd fails if it may not reset the function tracer, although unused here: give trace-cmd empty files instead.
SHADOWS = ["/proc/sys/kernel/ftrace_enabled"] + [
    "/sys/kernel/tracing/" + name for name in ("set_ftrace_filter", "set_ftrace_notrace", "set_ftrace_pid", "set_ftrace_notrace_pid")]
SHADOW = 'for file in %s; do : > "$1" && mount --bind "$1" "$file" || exit 1; done; shift; exec "$@"' % " ".join(SHADOWS)
LOADS = (("syscalls", "raw_syscalls:sys_enter", 1.0), ("switches", "sched:sched_switch", 0.4))


def cpu_of_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def output_of(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout


class Ptl:
    name = "ptl-record"
    available = True

    @staticmethod
    def command(event, file):
        return [RECORD, "-q", "-f", "--source=none", "-e", event, "-o", file, "--"]

    @staticmethod
    def kept(event, file, _expected):
        rows = map(json.loads, output_of(DUMP, "events", "--json", "--count", "-p", event.split(":")[0], file).splitlines())
        return sum(row["count"] for row in rows if row["name"] == event.split(":")[1])


class Perf:
    available = bool(shutil.which("perf"))

    def __init__(self, *options):
        self.options = options
        self.name = " ".join(("perf record",) + options)

    def command(self, event, file):
        return ["perf", "record", "-q", *self.options, "-e", event, "-o", file, "--"]

    @staticmethod
    def kept(_event, file, _expected):
        for line in output_of("perf", "report", "--stats", "-i", file).splitlines():
            if "SAMPLE events:" in line:
                return int(line.split(":")[1].split()[0])
        return 0


class TraceCmd:
    """Records all processes. The file has the losses of the kernel's rings; reading tens of millions of lines would take hours."""
    name = "trace-cmd"
    available = bool(shutil.which("trace-cmd"))

    @staticmethod
    def command(event, file):
        return ["unshare", "-m", "sh", "-c", SHADOW, "shadow", file + ".empty", "trace-cmd", "record", "-q", "-e", event, "-o", file]

    @staticmethod
    def kept(_event, file, expected):
        lines = output_of("trace-cmd", "report", "--stat", file).splitlines()
        return expected - sum(int(line.split(":")[1]) for line in lines
                              if line.split(":")[0] in ("overrun", "commit overrun", "dropped events"))


RECORDERS = (Ptl, Perf(), Perf("-z"), TraceCmd)


def made(report, kind):
    """Returns the number of events of this kind that the load made."""
    return report["switches"] if kind == "switches" else report["made"] + report["pauses"]


def measure_once(recorder, load, rate, seconds, scratch):
    kind, event, _ = load
    file, report = os.path.join(scratch, "trace"), os.path.join(scratch, "report")
    before = cpu_of_children()
    done = subprocess.run([*recorder.command(event, file), LOAD, kind, str(rate), str(seconds), report],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    cpu = cpu_of_children() - before
    if done.returncode:
        sys.exit("load_bench: %s: exit status %d: %s" % (recorder.name, done.returncode, done.stderr))
    with open(report) as text:
        of_load = json.load(text)
    expected, size = made(of_load, kind), os.path.getsize(file)
    kept = recorder.kept(event, file, expected)
    os.unlink(file)
    # The file may have more events: the load does not count some system calls at its start and end.
    return {"load": kind, "event": event, "recorder": recorder.name, "made": expected, "kept": kept, "lost": max(expected - kept, 0),
            "rate": expected / of_load["seconds"], "cpu": cpu - of_load["user"] - of_load["system"],
            "load_cpu": of_load["user"] + of_load["system"], "bytes": size}


def measure(load, options, scratch):
    rows = {}
    for _ in range(options.runs):
        for recorder in RECORDERS:
            if not recorder.available:
                continue
            row = measure_once(recorder, load, options.rate * load[2], options.seconds, scratch)
            best = rows.setdefault(recorder.name, row)
            most = max(best.get("lost_most", 0), row["lost"])
            if row["cpu"] / row["kept"] < best["cpu"] / best["kept"]:
                best = rows[recorder.name] = row
            best["lost_most"] = most
    return rows.values()


def show(row):
    print("%-10s %-15s %9.0f %10d %9d %9d %8.0f ns %8.2f" % (
        row["load"], row["recorder"], row["rate"], row["kept"], row["lost"], row["lost_most"], row["cpu"] / row["kept"] * 1e9,
        row["bytes"] / row["kept"]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--rate", type=float, default=1e6)
    parser.add_argument("--runs", type=int)
    options = parser.parse_args()
    options.seconds = options.seconds or (1 if options.quick else 5)
    options.runs = options.runs or (1 if options.quick else 3)
    if os.geteuid() != 0:
        print("load_bench: left out: the kernel's events are for root", file=sys.stderr)
        return
    for name in sorted({recorder.name.split()[0] for recorder in RECORDERS if not recorder.available}):
        print("load_bench: %s is not installed: not measured" % name, file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="ptl-bench-") as scratch:
        if not options.json:
            print("%-10s %-15s %9s %10s %9s %9s %11s %8s" % ("load", "recorder", "a second", "kept", "lost", "at most", "CPU each", "bytes"))
        for load in LOADS:
            for row in measure(load, options, scratch):
                print(json.dumps(row)) if options.json else show(row)


if __name__ == "__main__":
    main()
