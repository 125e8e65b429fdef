#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-relog's command line: exit statuses and exact messages for what is wrong, help, version, completion words.
import functools
import os
import subprocess

from scratch_test import DUMP, RECORD, RELOG as relog, check, plan, run as run_program, scratch, write


run = functools.partial(run_program, relog)


def refuses(name, arguments, status, stderr):
    """Nothing on standard output, these lines on standard error, this exit status."""
    got = run(*arguments)
    wanted = "".join(line + "\n" for line in stderr)
    check(name, (got.returncode, got.stdout, got.stderr) == (status, "", wanted), got, "wanted:", wanted)


PSB = b"\x02\x82" * 8
write("good.pt", PSB + b"\x02\x23")
write("nothing.pt", b"\x00" * 100)
write("code", b"\x90" * 4096)
write("good.map", b"0x1000 0x1000 0\n")
write("bad.map", b"# a comment\n0x1000 0x1000\n")
write("text", b"this is no trace\n" * 10)
RAW = ["--pt", "good.pt", "--memory", "code", "--memory-map", "good.map"]
for program in (DUMP, RECORD, relog):
    for option in ("--help", "--version"):
        with open("/dev/full", "wb") as full:
            got = subprocess.run([program, option], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
        check(f"{os.path.basename(program)} {option} on a full disk", got.returncode == 4 and "No space left" in got.stderr, got)
HELP_HINT = "  try: ptl-relog --help"

refuses("no input", ["-o", "x"], 2,
        ["ptl-relog: error: there is no input", "  try: ptl-relog INPUT.ptl -o OUTPUT.ptl, or ptl-relog --help"])
refuses("no output", ["a.ptl"], 2, ["ptl-relog: error: there is no output", "  try: -o OUTPUT.ptl"])
refuses("both kinds of input", ["a.ptl", *RAW, "-o", "x"], 2,
        ["ptl-relog: error: a trace file and raw input cannot be combined",
         "  try: give either INPUT.ptl, or --pt, --memory and --memory-map"])
refuses("raw input in part", ["--pt", "good.pt", "-o", "x"], 2,
        ["ptl-relog: error: raw input needs all of --pt, --memory and --memory-map",
         "  try: ptl-relog --pt trace.pt --memory memory.raw --memory-map memory.map -o out.ptl"])
refuses("details of raw input without any", ["a.ptl", "--cpu=6/78/3", "-o", "x"], 2,
        ["ptl-relog: error: --cpu, --mode, --pt-filter, and options of timing packets describe raw input, and there is none",
         "  try: leave them out: a trace file says these things itself"])
refuses("a CPU that is none", [*RAW, "--cpu=6/78", "-o", "x"], 2,
        ["ptl-relog: error: --cpu: expected FAMILY/MODEL/STEPPING, such as 6/78/3, found '6/78'", HELP_HINT])
for cpu in ("6/256/3", "6/78/3/1", "6//3", "", "six/78/3", "65536/1/1"):
    refuses(f"CPU '{cpu}'", [*RAW, f"--cpu={cpu}", "-o", "x"], 2,
            [f"ptl-relog: error: --cpu: expected FAMILY/MODEL/STEPPING, such as 6/78/3, found '{cpu}'", HELP_HINT])
refuses("a mode that is none", [*RAW, "--mode=16", "-o", "x"], 2,
        ["ptl-relog: error: --mode: '16' is not one of 64 or 32", HELP_HINT])
refuses("process id 0", [*RAW, "--pid=0", "-o", "x"], 2,
        ["ptl-relog: error: --pid: expected a process id from 1 to 1073737727, found '0'", HELP_HINT])
refuses("an unknown option", ["--nonsense"], 2, ["ptl-relog: error: there is no option --nonsense", HELP_HINT])
refuses("an option with a slip", ["--recompres9", "3"], 2,
        ["ptl-relog: error: there is no option --recompres9", "  try: --recompress, or ptl-relog --help"])

refuses("a map that is wrong", ["--pt", "good.pt", "--memory", "code", "--memory-map", "bad.map", "-o", "x"], 3,
        ["ptl-relog: error: bad.map:2:14: expected an offset in the memory file (decimal or 0x...), "
         "found the end of the line"])
refuses("PT without a PSB", ["--pt", "nothing.pt", "--memory", "code", "--memory-map", "good.map", "-o", "x"], 3,
        ["ptl-relog: error: nothing.pt: no PSB packet in 100 bytes: this is not Intel PT, or too short a piece of it"])
got = run("text", "-o", "x")
check("an input that is no trace", got.returncode == 3 and got.stdout == "" and
      got.stderr.startswith("ptl-relog: error: ") and "text" in got.stderr, got)
for arguments, missing in ((["absent.ptl"], "absent.ptl"),
                           (["--pt", "absent.pt", *RAW[2:]], "absent.pt"),
                           (["--pt", "good.pt", "--memory", "absent.raw", *RAW[4:]], "absent.raw"),
                           ([*RAW[:4], "--memory-map", "absent.map"], "absent.map")):
    got = run(*arguments, "-o", "x")
    check(f"{missing} is not there", got.returncode == 4 and got.stdout == "" and missing in got.stderr and
          "No such file or directory" in got.stderr, got)
refuses("an output that is full", ["-q", *RAW, "-o", "/dev/full"], 4,
        ["ptl-relog: error: cannot write /dev/full: No space left on device"])
got = run(*RAW, "-o", "once.ptl")
check("raw input is made a trace", got.returncode == 0, got)
got = run("once.ptl", "./once.ptl", "-o", "both.ptl")
check("an input that is given twice is warned of", got.returncode == 0 and
      got.stderr.startswith("ptl-relog: warning: ./once.ptl is given twice: once is enough\n"), got)
check("nothing was left behind", not [name for name in os.listdir(scratch) if name.startswith("x")],
      os.listdir(scratch))

got = run("--help")
check("--help", got.returncode == 0 and got.stderr == "" and
      all(word in got.stdout for word in ("Usage: ptl-relog", "--memory-map", "Examples:", "--version")), got)
check("--help fits 80 columns", all(len(line) <= 80 for line in got.stdout.splitlines()),
      [line for line in got.stdout.splitlines() if len(line) > 80])
got = run("--version")
check("--version", got.returncode == 0 and got.stderr == "" and got.stdout.startswith("ptl-relog "), got)
got = run("--completion-words")
check("completion words", got.returncode == 0 and "--memory-map=" in got.stdout.split() and
      "--force" in got.stdout.split(), got)
got = run("--completion-words=mode")
check("completion words of --mode", got.stdout.split() == ["64", "32"], got)

plan()
