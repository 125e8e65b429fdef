# SPDX-License-Identifier: BSD-2-Clause
# Measures the cost of traces per byte of PT: space, CPU time, rows; and the cost of rows in databases. For docs/scale.md.
"""scale_bench.py [--json] [--quick]

CPU time is user and system time of one thread, the minimum of several runs; a busy machine changes CPU time less than wall time.
Databases are measured if their servers are installed (make check-databases). Needs 2 GB in $TMPDIR, and 1 GB in /tmp for databases.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "e2e"))
from bench_text import TEXT_SIZE, make_text  # noqa: E402
from database_test import ClickHouse, Missing, Postgres  # noqa: E402

BIN = os.environ.get("PTL_BIN", "build/bin")
RECORD, RELOG, DUMP = (os.path.join(os.path.abspath(BIN), name) for name in ("ptl-record", "ptl-relog", "ptl-dump"))
TOOLS = os.path.join(os.environ.get("PTL_BENCH", "build/bench"), "..", "tests")
TRACES = os.environ.get("PTL_SHARED_TRACES", "")
TABLE = [DUMP, "table", "-q", "-j1"]
QUESTION = "SELECT function, sum(self) FROM calls GROUP BY function"
SCRIPT = """
import json, re, textwrap
def parse(text):
    return [json.loads(json.dumps({"word": word, "size": len(word)})) for word in re.findall("[a-z]+", text)]
for i in range(%d):
    textwrap.fill(" ".join(one["word"] for one in parse("the quick brown fox jumps over the lazy dog " * 20)), 60)
"""


def cpu_of(*command, output=None):
    """Runs the command. Returns its CPU seconds. output: file for the command's output, which is else discarded."""
    with open(output or os.devnull, "wb") as target:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=target, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit("scale_bench: %s: exit status %d" % (" ".join(command), process.returncode))
    return usage.ru_utime + usage.ru_stime


def least(runs, *command, **more):
    return min(cpu_of(*command, **more) for _ in range(runs))


def pt_bytes(trace):
    done = subprocess.run([DUMP, "info", "--json", trace], capture_output=True, check=True)
    return sum(stream["bytes"] for stream in json.loads(done.stdout)["streams"] if stream["kind"] == "pt")


def workloads(scratch, quick):
    """Yields (name, trace)."""
    text, trace = os.path.join(scratch, "text"), os.path.join(scratch, "gzip.ptl")
    make_text(text, TEXT_SIZE // (80 if quick else 8))
    with open(text, "rb") as source:
        subprocess.run([RECORD, "-q", "-o", trace, "--", shutil.which("gzip"), "-1"], stdin=source, stdout=subprocess.DEVNULL, check=True)
    yield "gzip", trace
    trace = os.path.join(scratch, "python.ptl")
    subprocess.run([RECORD, "-q", "-o", trace, "--", "/usr/bin/python3", "-I", "-c", SCRIPT % (2 if quick else 20)],
                   stdout=subprocess.DEVNULL, check=True)
    yield "python", trace
    folder = os.path.join(TRACES, "mruby")
    if TRACES and os.path.isdir(folder):
        trace = os.path.join(scratch, "mruby.ptl")
        subprocess.run([RELOG, "-q", "--force", "--pt", os.path.join(folder, "trace.pt"), "--memory", os.path.join(folder, "memory.raw"),
                        "--memory-map", os.path.join(folder, "memory.map"), "-o", trace], check=True)
        yield "mruby (hardware)", trace
        # Fixed costs per trace matter less in a long trace.
        long_trace = os.path.join(scratch, "long.ptl")
        subprocess.run([os.path.join(TOOLS, "ptl_repeat"), trace, "10" if quick else "100", long_trace], check=True)
        yield "the same, 100 times", long_trace


def measure(name, trace, scratch, runs):
    pt = pt_bytes(trace)
    row = {"name": name, "pt_mb": pt / 1e6, "file": os.path.getsize(trace) / pt}
    store, less, copy = (os.path.join(scratch, one) for one in ("store", "less.ptl", "copy.ptl"))
    subprocess.run([RELOG, "-q", "--force", trace, "--detach-code", store, "-o", less], check=True)
    row["without_code"] = os.path.getsize(less) / pt
    row["instructions"] = instructions(trace) / pt
    row["copy"] = min(cpu_of(RELOG, "-q", "--force", trace, "-o", copy) for _ in range(runs)) / pt
    for view in "stats", "report":
        row[view] = least(runs, DUMP, view, "-q", "-j1", trace) / pt
    rows = os.path.join(scratch, "rows")
    for table in "profile", "calls":
        row[table] = least(1, *TABLE, table, "--format", "rowbinary", trace, output=rows) / pt
        row[table + "_bytes"] = os.path.getsize(rows) / pt
        row[table + "_rows"] = lines(*TABLE, table, "--no-header", trace) / pt
    shutil.rmtree(store)
    return row


def lines(*command):
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        return sum(piece.count(b"\n") for piece in iter(lambda: process.stdout.read(1 << 20), b""))


def instructions(trace):
    done = subprocess.run([DUMP, "stats", "--json", trace], capture_output=True, check=True)
    return sum(thread["instructions"] for process in json.loads(done.stdout)["processes"] for thread in process["threads"])


def made(trace, form):
    return subprocess.run([*TABLE, "calls", "--format", form, trace], capture_output=True, check=True).stdout


def server_cpu(server):
    """Returns CPU seconds of the server and its ended processes. Waits until the server has noticed their end."""
    time.sleep(1)
    with open("/proc/%d/stat" % server.process.pid) as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def load_clickhouse(trace):
    server = ClickHouse()
    for statement in subprocess.run([DUMP, "table", "--ddl", "clickhouse"], capture_output=True, text=True, check=True).stdout.split(";\n"):
        if statement:
            server.send(statement)
    data = made(trace, "rowbinary")
    before = server_cpu(server)
    server.send("INSERT INTO calls FORMAT RowBinary", data)
    seconds = server_cpu(server) - before
    server.query(QUESTION)
    answer = server_cpu(server) - before - seconds
    rows, size = server.query("SELECT sum(rows), sum(bytes) FROM system.parts WHERE active AND table = 'calls'")[0]
    server.stop()
    return int(rows), seconds, answer, int(size)


def load_postgresql(trace):
    server = Postgres()
    server.script(subprocess.run([DUMP, "table", "--ddl", "postgresql"], capture_output=True, check=True).stdout)
    data = made(trace, "postgresql")
    before = server_cpu(server)
    server.script(data)
    seconds = server_cpu(server) - before
    server.query(QUESTION)
    answer = server_cpu(server) - before - seconds
    size = server.query("SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits WHERE inhparent = 'calls'::regclass")[0][0]
    rows = server.query("SELECT count(*) FROM calls")[0][0]
    server.stop()
    return int(rows), seconds, answer, int(size)


def databases(trace):
    for name, load in (("ClickHouse", load_clickhouse), ("PostgreSQL", load_postgresql)):
        try:
            rows, seconds, answer, size = load(trace)
        except Missing as why:
            print("scale_bench: %s: %s" % (name, why), file=sys.stderr)
            continue
        yield {"name": name, "rows": rows, "us_per_row": seconds * 1e6 / rows, "bytes_per_row": size / rows, "query_ms": answer * 1e3}


def hours(seconds_per_byte):
    return seconds_per_byte * 1e12 / 3600


def show(row):
    if "rows" in row:
        print("%-18s %d calls: %.1f us of CPU and %.0f bytes on disk for each, and %.0f ms of CPU for a sum of each function" %
              (row["name"], row["rows"], row["us_per_row"], row["bytes_per_row"], row["query_ms"]), flush=True)
        return
    print("%-18s %.1f MB of PT, %.1f instructions a byte; for each byte of PT: file %.3f bytes, without code %.3f" %
          (row["name"], row["pt_mb"], row["instructions"], row["file"], row["without_code"]))
    print("  CPU hours for a TB: " + ", ".join("%s %.2f" % (view, hours(row[view]))
                                               for view in ("copy", "stats", "report", "profile", "calls")))
    print("  rows for a GB: profile %.0f (%.2f MB), calls %.0f (%.1f MB)" %
          (row["profile_rows"] * 1e9, row["profile_bytes"] * 1e3, row["calls_rows"] * 1e9, row["calls_bytes"] * 1e3), flush=True)


def main():
    as_json, quick = "--json" in sys.argv[1:], "--quick" in sys.argv[1:]
    say = (lambda row: print(json.dumps({"bench": "scale", **row}), flush=True)) if as_json else show
    scratch = tempfile.mkdtemp(prefix="ptl-bench-")
    try:
        for name, trace in workloads(scratch, quick):
            say(measure(name, trace, scratch, 1 if quick else 3))
            calls = trace if name == "python" else None
            for row in databases(calls) if calls else ():
                say(row)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


main()
