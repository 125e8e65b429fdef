# SPDX-License-Identifier: BSD-2-Clause
# What tests of exports share: a program whose function has a hostile name, a browser, sums of report.
"""hostile() records; browse() gives the text of a page."""
import json
import os
import shutil

from scratch_test import DUMP, RECORD, check, output, path, run, scratch, write

# As long as the name that the compiler is given; with markup of all kinds, control characters and bytes that are no UTF-8.
HOSTILE = b"</title><script>alert('x')</script>]]>&quot;\\\";--\x01\x1b[31m\xff\xc3(\xe2\x80\xae\xef\xbf\xbf{}|\t`$(id)"
PLAIN = "h" * len(HOSTILE)
SOURCE = """
static volatile int sum;
__attribute__((noinline)) void %s(int n) { for (int i = 0; i < n; i++) sum += i; }
int main(void) { for (int i = 0; i < 50; i++) %s(i); return 0; }
""" % (PLAIN, PLAIN)


def hostile(name):
    """A trace of a program with such a function."""
    write("hostile.c", SOURCE)
    output("gcc", "-g0", "-O1", "-o", path("hostile"), path("hostile.c"))
    with open(path("hostile"), "rb") as file:
        code = file.read()
    with open(path("hostile"), "wb") as file:
        file.write(code.replace(PLAIN.encode(), HOSTILE))
    record(name, path("hostile"))


def record(name, *command, options=()):
    got = run(RECORD, "-q", "-o", name, *options, "--", *command)
    check(f"{name} is recorded", got.returncode == 0, got)


def report(*arguments):
    return [json.loads(line) for line in output(DUMP, "report", "--json", *arguments).splitlines()]


def by_name(rows, member):
    """{function: sum of that member}; what has no symbol is "image+0x..." as exports call it."""
    sums = {}
    for row in rows:
        name = row["function"]
        if name is None:
            name = os.path.basename(row["image"] or "") + ("+" if row["image"] else "") + row["address"]
        sums[name] = sums.get(name, 0) + row[member]
    return {name: value for name, value in sums.items() if value}


def stats(*arguments):
    return json.loads(output(DUMP, "stats", "--json", *arguments))


BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")


def browse(url):
    """The document of a page after its scripts have run; None where the browser does not start here."""
    home = os.path.join(scratch, "browser")
    got = run(BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader", "--user-data-dir=" + home,
              "--allow-file-access-from-files", "--virtual-time-budget=8000", "--dump-dom", url, env={**os.environ, "HOME": home})
    return got.stdout if got.returncode == 0 and got.stdout else None
