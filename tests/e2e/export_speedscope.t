#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump speedscope: speedscope itself, where PTL_SPEEDSCOPE is the folder of its npm package, shows what report says.
import base64
import json
import os
import re
import sys
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from export_test import BROWSER, browse, by_name, hostile, record, report, stats, total_by_name
from profile_file import sums
from scratch_test import DUMP, check, output, path, plan, read, run, skip, write

PACKAGE = os.environ.get("PTL_SPEEDSCOPE", "")


def contents():
    document = json.loads(output(DUMP, "speedscope", "a.ptl"))
    own, total = sums(document)
    rows = report("a.ptl")
    check("self counts are those of report", own == by_name(rows, "self_instructions"), own)
    wrong = {name: (value, total.get(name)) for name, value in total_by_name(rows, "total_instructions").items() if total.get(name) != value}
    check("totals are those of report", not wrong, wrong)
    check("the sum is that of stats", sum(profile["endValue"] for profile in document["profiles"]) ==
          stats("a.ptl")["instructions"])
    times = json.loads(output(DUMP, "speedscope", "--by", "time", "--per", "thread", "a.ptl"))
    check("times are those of report", sums(times)[0] == by_name(rows, "self_time") and
          times["profiles"][0]["unit"] == "nanoseconds")
    same = {run(DUMP, "speedscope", "-j", jobs, "a.ptl").stdout for jobs in "123"}
    check("any number of threads gives the same", len(same) == 1)
    hostile("hostile.ptl")
    document = json.loads(output(DUMP, "speedscope", "hostile.ptl"))
    check("hostile names are text", any("alert('x')" in frame["name"] for frame in document["shared"]["frames"]))


def schema():
    name = "the file is valid by speedscope's own schema"
    if not PACKAGE:
        skip(name, "PTL_SPEEDSCOPE names no npm package of speedscope")
        return
    try:
        import jsonschema
    except ImportError:
        skip(name, "there is no python3-jsonschema")
        return
    with open(os.path.join(PACKAGE, "dist", "release", "file-format-schema.json"), encoding="utf-8") as file:
        jsonschema.validate(json.loads(output(DUMP, "speedscope", "a.ptl")), json.load(file))
    check(name, True)


def viewer():
    name = "speedscope shows what report says"
    if not PACKAGE or not BROWSER:
        skip(name, "PTL_SPEEDSCOPE names no npm package of speedscope" if not PACKAGE else "there is no chromium")
        return
    output(DUMP, "speedscope", "-o", "a.json", "a.ptl")
    write("load.js", 'speedscope.loadFileFromBase64("a.json", "%s")' % base64.b64encode(read("a.json")).decode())
    page = browse("file://" + urllib.parse.quote(os.path.join(os.path.abspath(PACKAGE), "dist", "release", "index.html")) +
                  "#localProfilePath=" + urllib.parse.quote(path("load.js")) + "&view=sandwich")
    if page is None:
        skip(name, "chromium does not start here")
        return
    cells = [text for text in re.sub("<[^>]*>", "\n", page[page.index("Symbol Name"):]).splitlines() if text.strip()][1:]
    number = re.compile(r"([0-9,]+) \(")
    # Total, self and name; the first rows are the largest.
    shown = {cells[i + 2]: int(number.match(cells[i + 1]).group(1).replace(",", "")) for i in range(0, len(cells) - 2, 3)
             if number.match(cells[i]) and number.match(cells[i + 1])}
    own = by_name(report("a.ptl"), "self_instructions")
    largest = sorted(own, key=own.get, reverse=True)[:5]
    check(name, all(shown.get(function) == own[function] for function in largest), shown, largest)


write("text", "".join("line %d of a text that is packed\n" % i for i in range(500)))
record("a.ptl", "gzip", "-kc", path("text"))
for test in (contents, schema, viewer):
    test()
plan()
