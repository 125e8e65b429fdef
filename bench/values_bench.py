#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Measures what --values of ptl-record adds to the software source, for a program with about a million calls of a function a second.

The program measures the elapsed time of its loop, with the waiting for the recorder. The CPU time is that of program and recorder up
to the end of the recorder, which writes the rest of the trace behind the loop. Each result is the least of PTL_BENCH_RUNS runs (5), in
turn, in ns a call, and its ratio to the result without values. --json prints an object a line.
"""
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile

RUNS = int(os.environ.get('PTL_BENCH_RUNS', '5'))
BIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'build', 'bin')
RECORD = os.environ.get('PTL_RECORD', os.path.join(BIN, 'ptl-record'))
DUMP = os.environ.get('PTL_DUMP', os.path.join(BIN, 'ptl-dump'))
CALLS = 2000000
NANOSECONDS = 1000  # native CPU time of a call

PROGRAM = r'''
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct item { long number; const char *name; };

__attribute__((noinline, noclone)) unsigned work(unsigned seed, const struct item *item, long rounds)
{
	for (long i = 0; i < rounds; i++) {
		seed = seed * 1664525u + 1013904223u;
		seed ^= seed >> 7;
	}
	return seed + (unsigned)item->number + (unsigned)item->name[0];
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

int main(int argc, char **argv)
{
	const long calls = atol(argv[1]), rounds = atol(argv[2]);
	struct item item = {0, "an item"};
	unsigned seed = (unsigned)argc;
	const double start = now();

	for (long i = 0; i < calls; i++) {
		item.number = i;
		seed = work(seed, &item, rounds);
	}
	printf("%.1f %u\n", (now() - start) / (double)calls, seed);
	return 0;
}
'''
KINDS = (
    ('without values', ()),
    ('two numbers', ('--values', 'work(seed, rounds)')),
    ('a number and the result', ('--values', 'work(seed, $return)')),
    ('a member and a string', ('--values', 'work(item->number, item->name)')),
)


def costs_of(command):
    """Elapsed time of a call, as the program says, and CPU seconds of all processes of the command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return float(text.split()[0]), after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def count_events():
    text = subprocess.run([DUMP, 'events', '--count', '--json', 'out.ptl'], capture_output=True, text=True, check=True).stdout
    return sum(line.get('count', line.get('events', 0)) for line in map(json.loads, text.splitlines()) if line.get('provider') == 'PTL-Values')


def main():
    as_json = '--json' in sys.argv[1:]
    if not shutil.which('gcc'):
        print('values_bench: no gcc', file=sys.stderr)
        return
    with open('work.c', 'w', encoding='utf-8') as file:
        file.write(PROGRAM)
    subprocess.run(['gcc', '-O2', '-g', '-o', 'work', 'work.c'], check=True)
    # Other processes lengthen the elapsed time, but not the CPU time.
    measured = min(costs_of(['./work', '100000', '1000'])[1] for _ in range(3)) * 1e9 / 100000
    rounds = max(1, int(1000 * NANOSECONDS / measured))
    least, events = {}, {}
    for _ in range(RUNS):
        for name, options in (('natively', None), *KINDS):
            recorder = () if options is None else (RECORD, '-q', '-f', '-o', 'out.ptl', '--source', 'software', *options, '--')
            took, cpu = costs_of([*recorder, './work', str(CALLS), str(rounds)])
            known = least.get(name, (took, cpu * 1e9 / CALLS))
            least[name] = min(took, known[0]), min(cpu * 1e9 / CALLS, known[1])
            events[name] = count_events() if options else 0
    base = least['without values']
    for name, (took, cpu) in least.items():
        if as_json:
            print(json.dumps({'bench': 'values', 'case': name, 'ns_per_call': took, 'ratio': took / base[0], 'cpu_ns_per_call': cpu,
                              'cpu_ratio': cpu / base[1], 'events': events[name]}))
        else:
            print(f'{name:<26} {took:8.0f} ns a call  {took / base[0]:5.2f}  CPU {cpu:8.0f} ns a call  {cpu / base[1]:5.2f}  {events[name]:>9} events')


if __name__ == '__main__':
    place = tempfile.mkdtemp(prefix='ptl-values-')
    try:
        os.chdir(place)
        main()
    finally:
        shutil.rmtree(place, ignore_errors=True)
