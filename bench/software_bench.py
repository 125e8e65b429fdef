#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Measures user CPU time of programs recorded by software, compared with their native time in the same run.

A shell inside the recording measures the program's own time, so the recorder's work does not count. Each result is the minimum of
PTL_BENCH_RUNS runs (5). Missing programs are skipped. --json prints one object per line.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

RUNS = int(os.environ.get('PTL_BENCH_RUNS', '5'))
RECORD = os.environ.get('PTL_RECORD', os.path.join(os.path.dirname(__file__), '..', 'build', 'bin', 'ptl-record'))

PROGRAMS = (
    ('gzip -1, 20 MB', 'gzip', 'gzip -1 -c in'),
    ('xz -1, 20 MB', 'xz', 'xz -1 -T1 -c in'),
    ('zstd -9, 20 MB', 'zstd', 'zstd -9 -c in'),
    ('sqlite3, recursive query', 'sqlite3',
     "sqlite3 :memory: 'with recursive c(x) as (select 1 union all select x+1 from c where x<600000) select sum(x) from c'"),
    ('perl loop', 'perl', "perl -e 'my $s=0; for (1..3000000) { $s += $_ % 7 } print $s'"),
    ('python3 loop', '/usr/bin/python3', "/usr/bin/python3 -I -S -c 's=0\nfor i in range(2000000): s+=i%7'"),
    ('bash loop', 'bash', "bash -c 'for ((i=0;i<200000;i++)); do :; done'"),
    ('node, integer loop', 'node', "node -e 'let s=0; for (let i=0;i<3e8;i++) s=(s+i*7)%1000003; console.log(s)'"),
    ('gcc -O2, one file', 'gcc', 'gcc -O2 -c -o /dev/null big.c'),
)


def write_inputs():
    with open('in', 'wb') as file:
        for folder in ('/usr/lib/x86_64-linux-gnu', '/usr/bin'):
            for name in sorted(os.listdir(folder)):
                path = os.path.join(folder, name)
                if os.path.isfile(path) and file.tell() < 20 << 20:
                    with open(path, 'rb') as source:
                        file.write(source.read(4 << 20))
        file.truncate(20 << 20)
    with open('big.c', 'w') as file:
        for i in range(300):
            file.write(f'int f{i}(int *a,int n){{int s={i};for(int i=0;i<n;i++){{if(a[i]%{i + 2})s+=a[i]*{i + 3};'
                       f'else s^=a[i]>>{i % 5 + 1};switch(s&7){{case 1:s+=3;break;case 2:s-=a[i];break;case 5:s*=3;break;'
                       f'default:s++;}}}}return s;}}\n')


def user_time(command, source):
    script = f'TIMEFORMAT=%U; time {{ {command}; }} >/dev/null 2>&1'
    argv = ['bash', '-c', script]
    if source:
        argv = [RECORD, '--quiet', '--source', source, '-f', '-o', 'out.ptl', '--'] + argv
    result = subprocess.run(argv, capture_output=True, text=True, check=True)
    return float(result.stderr.split()[-1])


def measure(command, sources):
    least = {}
    for _ in range(RUNS):
        for source in sources:
            value = user_time(command, source)
            least[source] = min(least.get(source, value), value)
    return least


def main():
    as_json = '--json' in sys.argv
    sources = [None, 'software']
    if not as_json:
        print(f'{"program":28}{"native s":>10}' + ''.join(f'{source + " s":>13}{"ratio":>8}' for source in sources[1:]))
    with tempfile.TemporaryDirectory() as folder:
        global RECORD
        RECORD = os.path.abspath(RECORD)
        os.chdir(folder)
        write_inputs()
        for name, needs, command in PROGRAMS:
            if not shutil.which(needs):
                continue
            least = measure(command, sources)
            if as_json:
                print(json.dumps({'bench': 'software', 'program': name, 'native_s': least[None],
                                  **{f'{source}_s': least[source] for source in sources[1:]}}))
            else:
                print(f'{name:28}{least[None]:>10.2f}' + ''.join(
                    f'{least[source]:>13.2f}{least[source] / max(least[None], 0.001):>8.2f}' for source in sources[1:]), flush=True)


main()
