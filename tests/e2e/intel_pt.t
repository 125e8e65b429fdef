#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Intel PT of hardware, with a library that stands in for the kernel's driver: what it plays has to be in the trace.
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.environ["PTL_TESTS"], "reader"))
import perf_file  # noqa: E402
import pmu_test  # noqa: E402
from pmu_test import COLLISION, FILTERABLE, PARTIAL, TASKS, TRUNCATED, Recording, Script, losses, play, stats_of_threads  # noqa: E402
from scratch_test import DUMP, RELOG, check, path, plan, run, scratch, skip, write  # noqa: E402


def values(stats):
    return sorted(stats.values())


def one_process(recording):
    """Packets of a process on one CPU, through a small area that is gone round many times."""
    pid, tid, _ = recording.streams[0]
    script = Script(recording)
    script.processes()
    (data,), end = script.turns()
    script.packets(data)
    script.aux(0, pid, tid, data, end)
    done = play(script, "--aux-buffer=8K", "--timing=tsc", "--compress=0")
    check("one process: it is recorded", done.returncode in (40, 41) and pmu_test.nothing_lost(), done.returncode, done.stderr)
    check("one process: executes what it did", values(stats_of_threads("out.ptl")) == values(recording.stats),
          stats_of_threads("out.ptl"), recording.stats, done.stderr)


def several_cpus(recording):
    """Processes that take turns on two CPUs, and go from one to the other."""
    script = Script(recording)
    script.processes()
    lists, end = script.turns(cpus=2)
    pid, tid, _ = recording.streams[0]
    for cpu, data in enumerate(lists):
        script.packets(data)
        script.aux(cpu, pid, tid, data, end)
    done = play(script, "--timing=tsc", "--no-retcomp", "--compress-threads=3", command=(TASKS, "1", "3"))
    check("several processes on two CPUs: they are recorded", done.returncode in (40, 41) and pmu_test.nothing_lost(),
          done.returncode, done.stderr)
    stats = stats_of_threads("out.ptl")
    check("several processes on two CPUs: each executes what it did", len(stats) == 4 and
          values(stats) == values(recording.stats), stats, recording.stats)


def busy_recorder(recording):
    """While the recorder is held by what a process maps, packets that are many times the area are taken, and nothing is lost."""
    pid, tid, _ = recording.streams[0]
    write("slow-to-open", bytes(4096))
    script = Script(recording)
    script.processes()
    (data,), end = script.turns()
    script.packets(data)
    first, last = len(data) // 8, len(data) // 2
    script.add("aux", 0, 0, first, 0, pid, tid, end)
    script.add("stall", "slow-to-open")
    script.add("map", pid, 0x700000000000, 4096, 0, 5, 20, path("slow-to-open"))
    script.add("stalled")
    # In pieces, as the driver has it: it wakes who reads with each.
    for begin in range(first, last, 4096):
        script.add("aux", 0, begin, min(begin + 4096, last), 0, pid, tid, end)
    script.add("go_on")
    script.add("aux", 0, last, len(data), 0, pid, tid, end)
    done = play(script, "--timing=tsc", "--aux-buffer=16K", "--drain-threads=2")
    check("a busy recorder: nothing is lost", last - first > 3 * 16384 and done.returncode in (40, 41) and
          pmu_test.nothing_lost(), len(data), done.returncode, done.stderr)
    check("a busy recorder: executes what it did", values(stats_of_threads("out.ptl")) == values(recording.stats),
          stats_of_threads("out.ptl"), recording.stats, done.stderr)


def files_of():
    """What the series has now."""
    return sorted(name for name in os.listdir(scratch) if name.startswith("out."))


def forget_series():
    for name in files_of():
        os.unlink(path(name))


def say_begun(part, gate):
    """Makes the gate when events go to this file of the series: one that is prepared has code alone."""
    name = f"out.{part:06}.ptl"
    if os.path.exists(path(name)) and not os.path.exists(path(gate)):
        said = run(DUMP, "info", "--json", name).stdout
        if said and any(stream["kind"] == "events" for stream in json.loads(said)["streams"]):
            write(gate, b"")


def files_of_a_series(recording):
    """Packets of two CPUs go on from file to file at their PSBs: each file is decoded alone, and nothing is missing in between."""
    forget_series()
    script = Script(recording)
    script.processes()
    lists, end = script.turns(cpus=2)
    pid, tid, _ = recording.streams[0]
    # The code alone is 300 KB, so that no file ends before the processes have begun: see man ptl-record, --mode newfile. With two
    # thirds of the packets it is more than a file may have, and the rest comes when events go to the next one.
    for part in range(2):
        for cpu, data in enumerate(lists):
            script.packets(data)
            cut = len(data) * 2 // 3
            for first in range(cut if part else 0, len(data) if part else cut, 2000):
                script.add("aux", cpu, first, min(first + 2000, len(data) if part else cut), 0, pid, tid, end)
        if not part:
            script.add("wait_file", "next-begun")
    done = play(script, "--timing=tsc", "--no-retcomp", "--mode=newfile", "--max-size=340K", "--write-buffer=4K", "--aux-buffer=16K",
                "--flush-interval=10ms", "--embed=code", command=(TASKS, "1", "3"), meanwhile=lambda: say_begun(2, "next-begun"))
    files = files_of()
    stats = [stats_of_threads(name) for name in files]
    counts = {tid: sum(part.get(tid, (0,))[0] for part in stats) for part in stats for tid in part}
    check("a series: there are several files with packets", done.returncode in (40, 41) and sum(map(bool, stats)) > 1, files,
          done.stderr)
    wanted, gaps = [one[0] for one in recording.stats.values()], sum(gaps for part in stats for _, _, gaps in part.values())
    # A file is closed a second after the next has begun: where the rest came later, that is said, and nothing else is missing.
    late = [loss for name in files for loss in losses(name) if "came after the file" in loss["cause"]]
    # The stand-in reports all switches before any packets: those behind the last packets of a file leave open whose these are.
    check("a series: each thread executes what it did, in all files together", sum(counts.values()) < sum(wanted) if late else
          sorted(counts.values()) == sorted(wanted) and gaps <= 2, stats, recording.stats, late)


def a_series_is_one_flow(recording):
    """The files of a series, put together, have what the program executed, instruction by instruction, once."""
    forget_series()
    pid, tid, _ = recording.streams[0]
    script = Script(recording)
    script.processes()
    (data,), end = script.turns()
    script.packets(data)
    parts = 4
    cuts = [len(data) * part // parts for part in range(parts + 1)]
    for part, (first, last) in enumerate(zip(cuts, cuts[1:])):
        if part:
            script.add("wait_file", f"begun-{part + 1}")
        for begin in range(first, last, 2000):
            script.add("aux", 0, begin, min(begin + 2000, last), 0, pid, tid, end)

    def look_for_next():
        for part in range(2, parts + 1):
            say_begun(part, f"begun-{part}")
    done = play(script, "--timing=tsc", "--mode=newfile", "--part-time=1ms", "--write-buffer=4K", "--aux-buffer=16K", "--flush-interval=10ms",
                "--embed=code", meanwhile=look_for_next)
    files = files_of()
    each = [stats_of_threads(name) for name in files]
    run(RELOG, "-q", "-f", "-o", "all.ptl", *files)
    late = [loss for name in files for loss in losses(name) if "came after the file" in loss["cause"]]
    check("a series: several files have flow", done.returncode in (40, 41) and sum(map(bool, each)) > 1, files, done.stderr)
    check("a series: its files together have each instruction once", late or values(stats_of_threads("all.ptl")) == values(recording.stats),
          each, stats_of_threads("all.ptl"), recording.stats, late)


def program(recording, *arguments, flags=0, cut=None, **options):
    """The first process on CPU 0; with flags in an AUX record in the middle, behind which packets are left out."""
    pid, tid, _ = recording.streams[0]
    script = Script(recording)
    script.processes()
    (data,), end = script.turns()
    script.packets(data)
    middle = cut or len(data) // 2
    script.add("aux", 0, 0, middle, flags, pid, tid, end)
    if not flags & TRUNCATED or "--snapshot" not in arguments:
        script.add("aux", 0, middle + (99 if flags else 0), len(data), 0, pid, tid, end)
    return script, data, end, play(script, "--timing=tsc", *arguments, **options)


def flaws(recording):
    """Each flag that means that packets are missing is a loss with its CPU, and a gap up to the next PSB."""
    whole = sum(stats[0] for stats in recording.stats.values())
    for flag, text in ((TRUNCATED, "full"), (PARTIAL, "gaps"), (COLLISION, "collided")):
        _, _, _, done = program(recording, flags=flag)
        stats = stats_of_threads("out.ptl")
        found = [loss for loss in losses() if text in loss["cause"] and "CPU 0" in loss["cause"]]
        check(f"flag {flag}: is a loss with time and CPU", len(found) == 1 and found[0]["first_time"], losses(), done.stderr)
        check(f"flag {flag}: is a gap, and the rest is there", sum(gaps for _, _, gaps in stats.values()) in (1, 2, 3) and
              whole * 0.9 < sum(count for count, _, _ in stats.values()) < whole, stats, recording.stats)
        if flag == TRUNCATED:
            check("flag 1: the event is started again", any(line.startswith("enable cpu=0") for line in pmu_test.log()), *pmu_test.log())


def lost_records(recording):
    """Where context switches may be lost, packets are of no thread until the next one."""
    pid, tid, _ = recording.streams[0]
    for kind, body, text in ((2, "07" + "00" * 7 + "2a" + "00" * 7, "no room"), (13, "05" + "00" * 7, "LOST_SAMPLES"),
                             (5, "00" * 24, "throttled")):
        script = Script(recording)
        script.processes()
        (data,), end = script.turns()
        script.packets(data)
        at = next(index for index, line in enumerate(script.lines) if line.startswith("start"))
        script.lines.insert(at + 1, f"record 0 {kind} 0 {pid} {tid} {pmu_test.LEAD + 100} {body}")
        script.aux(0, pid, tid, data, end)
        play(script, "--timing=tsc")
        found = [loss for loss in losses() if text in loss["cause"] and "CPU 0" in loss["cause"]]
        check(f"record {kind}: is a loss with time and CPU", len(found) == 1 and found[0]["first_time"], losses())
        stats = stats_of_threads("out.ptl")
        count = sum(stats[0] for tid_, stats in stats.items() if tid_)
        check(f"record {kind}: " + ("nothing is of a wrong thread" if kind == 2 else "the packets are all there"),
              count < recording.stats[tid][0] if kind == 2 else values(stats) == values(recording.stats), stats)


def lost_at_the_end(recording):
    """Records without room are said with the next one that has some; where none comes, the events themselves count them."""
    pid, tid, _ = recording.streams[0]
    write("slow-to-open", bytes(4096))
    for name, more, old in (("the last ones", False, False), ("and others come", True, False),
                            ("the last ones, of a kernel that does not count", False, True)):
        script = Script(recording)
        script.processes()
        (data,), end = script.turns()
        script.packets(data)
        script.aux(0, pid, tid, data, end)
        script.add("stall", "slow-to-open")
        script.add("map", pid, 0x700000000000, 4096, 0, 5, 20, path("slow-to-open"))
        script.add("stalled")
        for number in range(2000):
            script.add("in" if number % 2 else "out", 0, pid, tid, end + number)
        script.add("count_lost", 0)
        script.add("go_on")
        if more:
            # They have room when the recorder has taken what was there: the area has, too, then.
            for number in range(0, len(data), 5000):
                script.add("aux", 0, number, min(number + 5000, len(data)), 0, pid, tid, end + 2000)
            script.add("count_lost", 0)
        write("old", b"1" if old else b"0")
        done = play(script, "--timing=tsc", "--buffer=64K", "--aux-buffer=16K")
        lost = [int(line.split("records=")[1]) for line in pmu_test.log() if line.startswith("lost ")]
        said = [loss for loss in losses() if "no room for its records of CPU 0" in loss["cause"]]
        count = sum(loss["count"] for loss in said)
        check(f"lost records: {name}", lost and lost[0] > 100 and count == (0 if old else lost[-1]) and
              all(loss["first_time"] for loss in said), lost, said, losses(), done.stderr)
    os.unlink(path("old"))


def bursts(recording):
    """What comes faster than it is taken is lost, and said; never is the program made to wait."""
    pid, tid, _ = recording.streams[0]
    script = Script(recording)
    script.processes()
    (data,), end = script.turns()
    script.packets(data)
    for first in range(0, len(data), 20000):
        script.add("burst", 0, first, min(first + 20000, len(data)), pid, tid, end)
    play(script, "--timing=tsc", "--aux-buffer=16K")
    bursts_ = [line.split() for line in pmu_test.log() if line.startswith("burst")]
    full = sum(line[3] != "lost=0" for line in bursts_)
    said = [loss for loss in losses() if "full" in loss["cause"]]
    check("bursts: each that found no room is a loss", full and len(said) == full, bursts_, said)
    taken = sum(int(line[2].split("=")[1]) for line in bursts_)
    kept = sum(stream["bytes"] for stream in pmu_test.streams() if stream["kind"] == "pt")
    check("bursts: all that found room is there", kept == taken + full, kept, taken, full)


def snapshots(recording):
    """An area that is written over: what was there last is kept, at the end and on SIGUSR2."""
    pid, tid, _ = recording.streams[0]
    whole = recording.stats[tid][0]
    for name, signals, parts in (("at the end", 0, 1), ("on SIGUSR2, more often than it is written over", 20, 20),
                                 ("on SIGUSR2, more rarely", 2, 2)):
        script = Script(recording)
        script.processes()
        (data,), end = script.turns()
        script.packets(data)
        cuts = [len(data) * part // parts for part in range(parts + 1)]
        for first, last in zip(cuts, cuts[1:]):
            script.add("aux", 0, first, last, 0, pid, tid, end)
            if signals:
                script.add("signal")
        done = play(script, "--timing=tsc", "--snapshot", "--aux-buffer=32K")
        count = sum(stats[0] for stats in stats_of_threads("out.ptl").values())
        over = [loss for loss in losses() if "written over" in loss["cause"]]
        check(f"snapshot {name}: is kept", done.stderr.count("snapshot:") == signals + 1, done.stderr, *pmu_test.log())
        if signals == 20:
            check(f"snapshot {name}: all is there once", count == whole and not over, count, whole, losses())
        else:
            check(f"snapshot {name}: only the last is there, which is said", 0 < count < whole and len(over) == parts,
                  count, whole, losses())


def triggers(recording):
    """Functions that are reached, or take too long; the kernel's own uprobes report them."""
    def snapshot(*arguments, **options):
        _, data, _, done = program(recording, "--snapshot", "--aux-buffer=2M", *arguments, **options)
        return data, done, pmu_test.notes()

    _, done, said = snapshot(f"--snapshot-at=main @ {TASKS}")
    if "perf_event_open" in done.stderr:
        skip("snapshots at functions", "uprobes are not permitted: " + done.stderr)
        return
    check("snapshot at a function: is said when it is reached, and at the end", len(said) == 2 and "reached main @" in said[0]
          and "the end" in said[1], said, done.stderr)
    # It waits in read() until all has been played, though not for long where it comes there late.
    _, done, said = snapshot(f"--snapshot-at=read @ {TASKS}", "--over=1ns", "--snapshots=1")
    stats = stats_of_threads("out.ptl")
    check("snapshot of a long call: is the only one, and has all", len(said) == 1 and "read @" in said[0] and " took " in said[0]
          and values(stats) == values(recording.stats), said, stats, recording.stats, done.stderr)
    _, done, said = snapshot(f"--snapshot-at=read @ {TASKS}", "--over=1h")
    check("snapshot of a long call: others are not kept", len(said) == 1 and "the end" in said[0], said, done.stderr)
    data, done, said = snapshot("--snapshot-depth=1us", "--quiet")
    depth = [loss for loss in losses() if "--snapshot-depth" in loss["cause"]]
    last = data.rfind(b"\x02\x82" * 8)
    check("depth of a snapshot: what is older is left out, and said, up to a PSB", len(depth) == 1 and
          depth[0]["bytes"] == last, depth, last, len(data), losses(), done.stderr)
    cases = [([f"--snapshot-at=nobody @ {TASKS}", "--snapshot"], "there is no function nobody"),
             ([f"--snapshot-at=main @ {TASKS}"], "written over"), (["--snapshot-at=main", "--snapshot"], "FUNCTION @ FILE"),
             (["--snapshot", "--over=1s"], "a function that is reached")]
    for arguments, text in cases:
        done = play(None, *arguments, hold=False)
        check(f"snapshot at: refused: {arguments[0].split('@')[0]}", done.returncode not in (0, 40, 41) and text in done.stderr,
              done.stderr)


def psb_times():
    """Returns the times of all PSBs in out.ptl, and the begin and end of the recording."""
    trace = perf_file.load(path("out.ptl"))
    times = [time for stream in trace.streams.values() for _, time in stream.psbs]
    clock = json.loads(run(DUMP, "info", "--json", "out.ptl").stdout)["clock"]
    return times, clock["start_time"], clock["end_time"]


def guests(recording):
    """A host with a virtual machine whose TSC has an offset: a PSB in the machine has a time of the host."""
    pid, tid, _ = recording.streams[0]
    zero = 10**11  # TSC of the stand-in's start
    for kind, lead in (("ahead", 6 * 10**10), ("behind", -6 * 10**10)):
        for first in ("host", "guest"):
            script = Script(recording)
            script.processes()
            packets, now = [], zero + pmu_test.LEAD
            script.add("start", 0, pid, tid, pmu_test.LEAD - 50)
            for number in range(8):
                now += 1000
                guest = number % 4 != (0 if first == "host" else 1)
                packets += ["psb", f"tsc {now + guest * lead:#x}", f"pip cr3=0x1000{' non_root' * guest}", "mode.exec 64", "psbend"]
            write("guests", pmu_test.assemble(packets))
            script.add("packets", zero, "guests")
            script.aux(0, pid, tid, pmu_test.assemble(packets), now - zero, piece=50)
            done = play(script, "--timing=tsc", "--aux-buffer=64K")
            times, begin, end = psb_times()
            check(f"a guest's TSC, {kind}, the first PSB is the {first}'s: no PSB has the guest's time", done.returncode in (40, 41) and
                  len(times) == 8 and all(begin <= time <= end for time in times), times, begin, end, done)
            if first == "host":
                check(f"a guest's TSC, {kind}: PSBs have the host's last time", times == sorted(times) and times[0] == times[3] < times[4] ==
                      times[7], times)
            play(script, "--timing=tsc", "--aux-buffer=64K", "--snapshot", "--snapshot-depth=30s")
            check(f"a guest's TSC, {kind}, the first PSB is the {first}'s: a snapshot leaves nothing out", len(psb_times()[0]) == 8 and
                  not losses(), losses())


def events_that_match():
    """--snapshot-when: events of programs, and of the kernel."""
    writer = os.path.join(pmu_test.PROGRAMS, "provider_writer")

    def kept(*arguments, command=(writer, "count=3")):
        done = play(None, "--snapshot", "--embed=none", *arguments, command=command, hold=False)
        return done, pmu_test.notes() if done.returncode in (0, 40, 41) else []

    done, said = kept("--provider=*", "--snapshot-when=index == 1 && event.level == 4", "--snapshot-when=nothing > 5",
                      "--snapshots=1")
    check("snapshot when an event matches: is kept, once", len(said) == 1 and "snapshot: event Number of process " in said[0],
          said, done.stderr)
    done, said = kept("--provider=*", "--snapshot-when=index > 2")
    check("snapshot when an event matches: others do not", len(said) == 1 and "the end" in said[0], said, done.stderr)
    done, said = kept("--provider=*", '--snapshot-when=lower(index) == "x"')
    check("snapshot when an event matches: what cannot be computed is said once", done.stderr.count("--snapshot-when:1:") == 1 and
          len(said) == 1, said, done.stderr)
    done, said = kept("--event=sched:sched_process_fork", '--snapshot-when=parent_comm == "sh"',
                      command=("/bin/sh", "-c", "/bin/true; /bin/true"))
    if not said:
        skip("snapshot when an event of the kernel matches", done.stderr)
    else:
        check("snapshot when an event of the kernel matches: is kept", any("sched_process_fork" in text for text in said), said,
              done.stderr)
    for text, message in (("index ==", "expected"), ("3", "expected a condition"), ("lower(index", "expected")):
        done, _ = kept("--provider=*", f"--snapshot-when={text}")
        check(f"snapshot when {text}: is refused with the place", done.returncode not in (0, 40, 41) and message in done.stderr and
              "--snapshot-when:1:" in done.stderr, done.stderr)
    done = play(None, "--snapshot-when=index == 1", hold=False)
    check("snapshot when: needs memory that is written over", "--snapshot" in done.stderr and done.returncode not in (0, 40, 41),
          done.stderr)


def hostile_rings(recording):
    """What the rings say is not believed."""
    pid, tid, _ = recording.streams[0]
    cases = {
        "a record without a size": ["raw 0 0b00000000000000"],
        "a record larger than what is there": ["raw 0 0b0000000000f0ff"],
        "a record of an odd size": ["raw 0 0b00000000000d000000000000000000"],
        "an AUX record of nothing": [f"record 0 11 0 {pid} {tid} 5 "],
        "an AUX record from far away": [f"record 0 11 0 {pid} {tid} 5 " + "ff" * 8 + "10" + "00" * 15],
        "an AUX record of very much": [f"record 0 11 0 {pid} {tid} 5 " + "00" * 8 + "ff" * 8 + "00" * 8],
        "a head far beyond the area": ["aux_head 0 0x7fffffffffffffff", "pause 20"],
        "a head that goes back": ["aux_head 0 0xffffffffffff0000", "pause 20", "aux_head 0 0", "pause 20"],
        "an unknown record": [f"record 0 4000 0 {pid} {tid} 5 00"],
    }
    for name, lines in cases.items():
        script = Script(recording)
        script.processes()
        (data,), end = script.turns()
        script.packets(data)
        script.lines += lines
        script.add("pause", 10)
        done = play(script, "--timing=tsc", "--aux-buffer=256K")
        check(f"hostile: {name}", done.returncode in (40, 41) and "did not end" not in done.stderr, done.returncode, done.stderr)


def refusals(recording):
    """What the CPU or the kernel does not do is refused before anything runs, and nothing is left behind."""
    binary = ["--", TASKS, "1"]
    cases = [
        (["--pt=ptw"], {"intel_pt/caps/ptwrite": "0"}, "has no ptw"),
        (["--pt=mtc_period=5"], {}, "this CPU takes 0, 3, 6, 9"),
        (["--timing=cyc"], {"intel_pt/caps/psb_cyc": "0"}, "has no cyc"),
        (["--filter=filter main @ " + TASKS] * 3, {}, "this CPU has 2"),
        (["--filter=filter main @ " + TASKS], {"intel_pt/caps/ip_filtering": "0"}, "this CPU has 0"),
        (["--filter=filter nobody @ " + TASKS], {}, "there is no function nobody"),
        (["--filter=filter work @ " + os.path.join(pmu_test.PROGRAMS, "overloads")], {}, "_Z4worki work(int), "),
        *([] if FILTERABLE else [(["--filter=filter main @ " + TASKS], {}, "no path with blanks")]),
        (["--filter=start main @ " + TASKS], {}, "cannot begin"),
        (["--cpus=7-3"], {}, "a list of CPUs"),
        (["--process=tasks"], {}, "instead of a command"),
        (["--per-thread", "--cpus=0"], {}, "--cpus for CPUs"),
        ([], {"refuse": "16"}, "somebody else records Intel PT"),
        ([], {"refuse": "13"}, "ptl-record check"),
        (["--aux-buffer=4M"], {"mlock": "1000000"}, "--aux-buffer"),
        ([], {"intel_pt/type": "x"}, "no type"),
    ]
    del recording
    os.unlink(path("out.ptl"))
    for arguments, changes, text in cases:
        done = play(None, *arguments, command=binary[1:], changes=changes, hold=False)
        check(f"refused: {' '.join(arguments).split('@')[0]} {list(changes)[:1]}: {text}",
              done.returncode not in (0, 40, 41) and text in done.stderr and not os.path.exists(path("out.ptl")),
              done.returncode, done.stderr)
        for name in changes:
            os.unlink(path(name))


def settings(recording):
    """What was asked for is what the kernel is asked."""
    filters = ["--filter=filter main @ " + TASKS] if FILTERABLE else []
    _, _, _, done = program(recording, "--pt=cyc,cyc_thresh=2,mtc,mtc_period=6", *filters, "--no-retcomp")
    log = pmu_test.log()
    word = 1 | 1 << 1 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 13 | 6 << 14 | 2 << 19 | 3 << 24
    check("settings: terms, and return compression", any(f"type=intel_pt config={word:#x} " in line for line in log), *log,
          done.stderr)
    check("settings: the filter of a function is an offset in its file", not FILTERABLE or
          any(line.startswith("filter filter 0x") and line.endswith("tasks") for line in log), *log)
    info = json.loads(run(DUMP, "info", "--json", "out.ptl").stdout)
    kept = [(one["kind"], one["name"]) for one in info["attachments"]]
    check("settings: the trace has the filter's range", not FILTERABLE or kept == [(6, os.path.realpath(TASKS))], kept)
    check("settings: the trace says what there is", info["clock"]["name"] == "perf" and info["source"] == "intel_pt" and
          info["pt"]["timing"] == "cyc" and not info["pt"]["return_compression"] and info["pt"]["mtc_frequency"] == 6, info)
    program(recording, "--code=all")
    asked = [line for line in pmu_test.log() if "pid=0" not in line and "pid=-1" not in line and line.startswith("open")]
    check("settings: namespaces and cgroups are reported", sum("switch=1" in line and line.endswith("containers=1") for line in
                                                               asked) == 2, *asked)
    check("settings: the kernel, whose code is a loss", all("user=1 kernel=1" in line for line in asked) and
          any("kernel's code" in loss["cause"] for loss in losses()), *asked, losses())
    # What is permitted: 256K for processes, 512K for records, and 128K for packets, of each CPU.
    _, _, _, done = program(recording, changes={"mlock": str(2 * (256 + 512 + 128 << 10))})
    os.unlink(path("mlock"))
    check("settings: the area is as large as is permitted", "aux cpu=1 size=131072 overwrite=0" in pmu_test.log(), *pmu_test.log(), done.stderr)


def hardware_traces(recording):
    """What real CPUs wrote, through areas that are gone round many times: byte by byte."""
    pid, tid, _ = recording.streams[0]
    folder = os.environ.get("PTL_SHARED_TRACES", "")
    names = [name for name in ("foo", "mruby") if os.path.exists(os.path.join(folder, name, "trace.pt"))]
    if not names:
        skip("packets of hardware", f"no traces in {folder}")
        return
    script, data = Script(recording), []
    script.add("process", pid, 0)
    for cpu, name in enumerate(names):
        with open(os.path.join(folder, name, "trace.pt"), "rb") as file:
            data.append(file.read())
        write(name, data[-1])
        script.add("bytes", name)
        script.aux(cpu, pid, tid, data[-1], 100, piece=30011)
    done = play(script, "--aux-buffer=16K", "--embed=none")
    streams = perf_file.streams_of(perf_file.load(path("out.ptl")))
    check("packets of hardware: are as they were", sorted(bytes_ for _, _, bytes_ in streams) == sorted(data),
          [len(bytes_) for _, _, bytes_ in streams], [len(bytes_) for bytes_ in data], done.stderr)
    stats = json.loads(run(DUMP, "stats", "--json", "out.ptl").stdout)
    check("packets of hardware: each PSB is in the index", stats["segments"] == sum(
        bytes_.count(b"\x02\x82" * 8) for bytes_ in data), stats["segments"], [bytes_.count(b"\x02\x82" * 8) for bytes_ in data])


def running(single, several):
    """Processes that run already: by pid, by thread, and all on some CPUs."""
    for name, recording, options in (("--pid", single, ["--pid=%"]), ("--tid", single, ["--tid=%"]),
                                     ("--cpus", several, ["--cpus=0-1", "--no-retcomp", "--embed=code"])):
        process, pids = pmu_test.family("1", *(["3"] if recording is several else []))
        script = Script(recording)
        for recorded, pid in zip(script.pids, pids):
            script.add("real", recorded, pid)
        lists, end = script.turns(cpus=2 if recording is several else 1)
        if name == "--cpus":
            script.cpu_wide()
        for cpu, data in enumerate(lists):
            script.packets(data)
            script.aux(cpu, script.pids[0], script.pids[0], data, end)
        done = pmu_test.play_running(script, "--timing=tsc", *[option.replace("%", str(pids[0])) for option in options])
        alive = process.poll() is None
        process.stdin.close()
        process.wait()
        stats = {tid: values_ for tid, values_ in stats_of_threads("out.ptl").items() if tid in pids}
        check(f"{name}: executes what it did", values(stats) == values(recording.stats) and len(stats) == len(pids), stats,
              recording.stats, done.stderr)
        check(f"{name}: ends without it", alive and done.returncode == 0, done.returncode, done.stderr)
        asked = [line for line in pmu_test.log() if "type=intel_pt" in line]
        check(f"{name}: the kernel was asked for that", len(asked) == 2 and all(
            f"pid={pids[0] if 'id' in name else -1} " in line and f"inherit={int('id' in name)} on_exec=0" in line
            for line in asked), *asked)


def container(recording):
    """A process whose program, and whose pid, only a container has: its code goes into the trace."""
    place = path("room")
    found = pmu_test.in_container(place)
    if not found:
        skip("a container", "this user makes none")
        return
    process, pid = found
    script = Script(recording)
    script.add("real", script.pids[0], pid)
    (data,), end = script.turns()
    script.packets(data)
    script.aux(0, script.pids[0], script.pids[0], data, end)
    done = pmu_test.play_running(script, "--timing=tsc", f"--pid={pid}", "--embed=symbols")
    process.stdin.close()
    process.wait()
    stats = {tid: values_ for tid, values_ in stats_of_threads("out.ptl").items() if tid == pid}
    check("a container: executes what it did", values(stats) == values(recording.stats) and stats, stats, recording.stats, done.stderr)
    images = [json.loads(line) for line in run(DUMP, "images", "--json", "out.ptl").stdout.splitlines()]
    check("a container: its program is an image of its pid out here", not os.path.exists(place + "/inside") and
          [(image["pid"], image["path"]) for image in images if image["path"].endswith("/inside")] == [(pid, place + "/inside")], images)
    check("a container: functions have their names", " main" in run(DUMP, "report", "--limit=1000", "out.ptl").stdout)


def by_name(recording, *options):
    """Processes of a name: those that run already, and one that gets it while recording goes on."""
    # A name of our own: tests of others, which run at the same time, have processes of that program, too.
    name = f"tasks-{os.getpid()}"
    shutil.copy(TASKS, path(name))
    last = pmu_test.late(path(name))
    first = [pmu_test.family("1", program=path(name))[0] for _ in recording.streams[1:]]
    script = Script(recording)
    for recorded, process in zip(script.pids, first + [last]):
        script.add("real", recorded, process.pid)
    script.add("executes", script.pids[-1], 500, name)
    script.add("enabled", script.pids[-1])
    per_thread = "--per-thread" in options
    lists, end = script.turns(cpus=1 if per_thread else 2)
    if per_thread:
        # Each thread has packets of its own, in a buffer of its own.
        script.lines = [line for line in script.lines if line.split()[0] not in ("start", "in", "out")]
        lists = [pmu_test.assemble(pmu_test.alone(recording, tid)) for _, tid, _ in recording.streams]
    for number, data in enumerate(lists):
        tid = recording.streams[number][1]
        script.packets(data)
        script.aux(-tid if per_thread else number, script.pids[number], tid, data, end)

    def begun():
        # The first look has passed it by then.
        pmu_test.wait_for(lambda: all(any(f"enable cpu={cpu} pid={process.pid}" == line for line in pmu_test.log())
                                      for process in first for cpu in ([-1] if per_thread else [0, 1])))
        pmu_test.time.sleep(0.05)
        last.stdin.write("\n")
        last.stdin.flush()
    done = pmu_test.play_running(script, "--timing=tsc", "--process=tas?s" + name[5:], "--process=nobody*", "--no-retcomp", *options,
                                 begun=begun)
    for process in first + [last]:
        process.stdin.close()
        process.wait()
    name = " ".join(["--process", *options])
    check(f"{name}: each executes what it did", values(stats_of_threads("out.ptl")) == values(recording.stats),
          stats_of_threads("out.ptl"), recording.stats, done.stderr, *pmu_test.log())
    late = [loss for loss in losses() if "found by its name" in loss["cause"]]
    check(f"{name}: what the last one did before is said to be missing", len(late) == 1 and late[0]["pid"] == last.pid and
          late[0]["first_time"], late)
    opened = [line for line in pmu_test.log() if "type=intel_pt" in line]
    check(f"{name}: each has its events", all(sum(f"pid={process.pid} " in line for line in opened) == (1 if per_thread else 2)
                                              for process in first + [last]), *opened)
    if per_thread:
        check(f"{name}: no CPU is named", all("cpu=-1 inherit=0" in line for line in opened), *opened)
        tids = sorted(stream["tid"] for stream in pmu_test.streams() if stream["kind"] == "pt")
        check(f"{name}: streams are of threads", tids == sorted(process.pid for process in first + [last]), tids,
              [process.pid for process in first], last.pid, late, *pmu_test.log())


MAKER = r"""
import ctypes, mmap, os, sys
private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
def address(of):
    return ctypes.addressof(ctypes.c_char.from_buffer(of))
memory = mmap.mmap(-1, 8192, private, 7)
memory.write(b"\x90" * 8192)
late = mmap.mmap(-1, 4096, private, 3)
late.write(b"\x91" * 4096)
shared = os.memfd_create("made")
os.write(shared, b"\xcc" * 4096)
executable = mmap.mmap(shared, 4096, prot=5)
with open("gone.bin", "wb+") as file:
    file.write(b"\xc3" * 4096)
    file.flush()
    deleted = mmap.mmap(file.fileno(), 4096, prot=5)
os.unlink("gone.bin")
print(address(memory), address(late), flush=True)
sys.stdin.readline()
ctypes.CDLL(None).mprotect(ctypes.c_void_p(address(late)), ctypes.c_size_t(4096), 5)
memory.seek(4096)
memory.write(b"\xf4" * 10)
print("written", flush=True)
sys.stdin.readline()
"""


def code_without_files():
    """Anonymous memory, memory files, deleted files, late mprotect: their code is read from the process, and again where it changes."""
    yama = "/proc/sys/kernel/yama/ptrace_scope"
    if os.geteuid() and os.path.exists(yama) and open(yama, encoding="ascii").read().strip() != "0":
        skip("code without files", "the memory of processes that are no children may not be read")
        return
    process = pmu_test.subprocess.Popen(["/usr/bin/python3", "-S", "-c", MAKER], cwd=scratch, stdin=pmu_test.subprocess.PIPE,
                                        stdout=pmu_test.subprocess.PIPE, text=True)
    memory, late = map(int, process.stdout.readline().split())
    script = Script.__new__(Script)
    script.lines = []
    script.add("real", 1, process.pid)
    script.add("wait_file", "go-on")
    # The kernel reports what is made executable, and what becomes so again.
    script.add("map", 1, late, 4096, 0, 5, 1000, "//anon")
    script.add("map", 1, memory, 8192, 0, 7, 2000, "//anon")
    script.add("pause", 30)

    def begun():
        process.stdin.write("\n")
        process.stdin.flush()
        process.stdout.readline()
        write("go-on", b"")
    if os.path.exists(path("go-on")):
        os.unlink(path("go-on"))
    done = pmu_test.play_running(script, f"--pid={process.pid}", begun=begun)
    process.communicate("\n")
    images = [json.loads(line) for line in run(DUMP, "images", "--json", "out.ptl").stdout.splitlines()]
    coded = {image["base"]: image["path"] for image in images if image["code"]}
    check("code without files: of a memory file, and of one that was deleted", "memfd:made" in coded.values() and any(
        name.endswith("gone.bin") for name in coded.values()), coded, done.stderr)
    check("code without files: anonymous, and what is made executable later", coded.get(hex(memory)) == coded.get(hex(late)) ==
          "//anon", coded, memory, late, losses(), done.stderr)
    changes = [json.loads(line)["fields"] for line in run(DUMP, "events", "--json", "out.ptl").stdout.splitlines()
               if '"Code' in line]
    check("code without files: a page that is written over is a version", any(
        change.get("Base") in (memory + 4096, hex(memory + 4096)) for change in changes), changes, memory)


def fewer_buffers():
    """A command on one CPU; a buffer for each thread, also of one that begins later."""
    done = play(None, "--max-cpus=1", "--embed=none", command=("/bin/grep", "Cpus_allowed_list", "/proc/self/status"),
                hold=False, online="0-1023")
    cpu = min(os.sched_getaffinity(0))
    opened = [line for line in pmu_test.log() if "type=intel_pt" in line]
    check("--max-cpus: the command runs on one CPU, and that is recorded", done.stdout.split()[1:] == [str(cpu)] and
          len(opened) == 1 and f" cpu={cpu} " in opened[0], done.stdout, done.stderr, *opened)
    code = "import threading, time; t = threading.Thread(target=time.sleep, args=(0.2,)); t.start(); t.join()"
    done = play(None, "--per-thread", "--embed=none", command=("/usr/bin/python3", "-c", code), hold=False)
    opened = [line for line in pmu_test.log() if "type=intel_pt" in line]
    late = [loss for loss in losses() if "before it had a buffer" in loss["cause"]]
    check("--per-thread: a thread that begins later is found, and its beginning a loss", done.returncode == 0 and
          len(opened) == 2 and all("cpu=-1 inherit=0" in line for line in opened) and len(late) == 1 and
          f"pid={late[0]['tid']} " in opened[1] and f"pid={late[0]['pid']} " in opened[0], done.stderr, *opened, late)


def events_of_programs():
    """Events that programs write have the times of the kernel's clock, which began elsewhere."""
    writer = os.path.join(pmu_test.PROGRAMS, "provider_writer")
    done = play(None, "--provider=*", "--embed=none", command=(writer, "count=3", "threads=2,2"), hold=False)
    events = [json.loads(line) for line in run(DUMP, "events", "--json", "out.ptl").stdout.splitlines()]
    written = [event["time"] for event in events if event["provider"] not in ("Kernel", "Linux-Perf")]
    begin = [event["time"] for event in events if event["event"] == "Process/Start"]
    end = [event["time"] for event in events if event["event"] == "Process/End"]
    check("events of programs: are between start and end of their process", len(written) == 7 and len(begin) == len(end) == 1
          and begin[0] < min(written) <= max(written) <= end[0], begin, written, end, done.stderr)


def ends_with_the_process():
    """Without a command, a recording ends when what it records does."""
    process, pids = pmu_test.family("1")
    pmu_test.device()
    recorder = pmu_test.start(f"--pid={pids[0]}", command=())
    pmu_test.wait_for(lambda: any(line.startswith("enable cpu=1") for line in pmu_test.log()))
    process.stdin.close()
    process.wait()
    try:
        recorder.communicate(timeout=120)
    except pmu_test.subprocess.TimeoutExpired:
        recorder.kill()
        recorder.communicate()
    check("--pid: ends when the process does", recorder.returncode == 0, recorder.returncode)


def main():
    # The software source refuses the registration of restartable sequences, which changes the flow of the C library.
    os.environ["GLIBC_TUNABLES"] = "glibc.pthread.rseq=0"
    recording = Recording("tasks.ptl", TASKS, "20000")
    stepped = run(os.path.join(os.environ["PTL_TEST_TOOLS"], "single_step"), "--most", "100000", "-o", "steps", "--", TASKS, "20000")
    compared = run(os.path.join(os.environ["PTL_TEST_TOOLS"], "flow_compare"), "tasks.ptl", "steps")
    check("what is played is what was executed", compared.returncode == 0, stepped.stderr, compared.stdout, compared.stderr)
    one_process(recording)
    family = Recording("family.ptl", TASKS, "2000", "3", options=["--no-retcomp"])
    several_cpus(family)
    busy_recorder(recording)
    files_of_a_series(family)
    a_series_is_one_flow(recording)
    hardware_traces(recording)
    running(recording, family)
    container(recording)
    by_name(family)
    by_name(family, "--per-thread")
    ends_with_the_process()
    fewer_buffers()
    code_without_files()
    events_of_programs()
    flaws(recording)
    lost_records(recording)
    lost_at_the_end(recording)
    bursts(recording)
    snapshots(recording)
    guests(recording)
    triggers(recording)
    events_that_match()
    hostile_rings(recording)
    refusals(recording)
    settings(recording)
    plan()


main()
