#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump --slurm with programs in Slurm's place that run jobs at once, and say more than was asked: what plugins of a site print
# stands beside the answers.
import os

from scratch_test import DUMP, RECORD, check, path, plan, run, write

PROGRAMS = os.environ["PTL_PROGRAMS"]
SBATCH = """#!/bin/sh
array= output=/dev/null
while [ $# -gt 1 ]; do
    case $1 in
    --array) array=$2; shift ;;
    --output) output=$2; shift ;;
    --dependency|--partition|--account|--time|--mem) shift ;;
    esac
    shift
done
if [ -n "$array" ]; then
    for i in $(seq ${array%%,*} ${array##*,}); do
        SLURM_ARRAY_TASK_ID=$i sh "$1" >/dev/null 2>&1
    done
else
    sh "$1" >"$output" 2>&1
fi
echo "sbatch: warning: 2 nodes of the partition are down" >&2
echo "$ANSWER"
echo "sbatch: see the site's news" >&2
"""


def install(name, text):
    write(f"bin/{name}", text)
    os.chmod(path(f"bin/{name}"), 0o755)


def submit(name, answer, passed):
    os.environ["ANSWER"] = answer
    done = run(DUMP, "stats", "--slurm", "--shards", "2", "threads.ptl", timeout=120)
    check(name, passed(done), done)


os.environ.pop("PTL_SCRATCH", None)
os.mkdir(path("bin"))
install("sbatch", SBATCH)
# An error that squeue prints does not make a job of it that still runs.
install("squeue", "#!/bin/sh\necho 'squeue: error: the controller is slow' >&2\n")
install("scancel", "#!/bin/sh\n")
run(RECORD, "-q", "-o", "threads.ptl", "--psb-period", "2K", "--", os.path.join(PROGRAMS, "threads"))
whole = run(DUMP, "stats", "threads.ptl")
os.environ["PATH"] = path("bin") + ":" + os.environ["PATH"]
submit("the number of a job between warnings", "17",
       lambda done: done.returncode == 0 and whole.stdout and done.stdout == whole.stdout)
submit("the number of a job of a cluster", "17;east",
       lambda done: done.returncode == 0 and done.stdout == whole.stdout)
submit("an answer without a number", "queued",
       lambda done: done.returncode == 4 and not done.stdout and "no number of a job" in done.stderr)
# The merge is ended by a signal: its exit status is no result.
install("sbatch", SBATCH.replace('sh "$1" >"$output"', 'sh "$1" >"$output" && echo 137 >"${1%/*}/status"'))
submit("a merge that a signal ended is no finding", "17", lambda done: done.returncode == 4)
plan()
