# SPDX-License-Identifier: BSD-2-Clause
"""The exports of ptl-dump with optional options, and readers that check an output's format."""
import csv
import gzip
import html.parser
import io
import json
import os
import re
import sqlite3
import xml.parsers.expat

import pcapng_file
import perfetto_file

DATABASE, DATA, FOLDER = "export.db", "export.data", "export.ctf"  # outputs of exports that cannot write to standard output
JOBS, INDEX, TIME, PID = "--jobs 1", "--ignore-index", "--time ..500us|--time 1us..|--last 2us", "--pid 101|--tid 101,102"
EVERY = [JOBS, INDEX, TIME, PID]
TABLES = ("traces", "processes", "threads", "images", "events", "calls", "gaps", "losses", "profile", "coverage")
# As in attack.py: one of the words with a bar between them.
DUMP = {
    "flamegraph": ["--folded", "--reverse", "--icicle", "--by time", "--per thread|--per all", "--depth 3", "in.ptl"] + EVERY,
    "speedscope": ["--by time", "--per process|--per thread", "--depth 1", *EVERY],
    "timeline": ["--format chrome", "--min-time 100ns", "--max-slices 10", "--by time|--by instructions", *EVERY],
    "pprof": ["--by time", "--depth 2", *EVERY],
    "callgrind": EVERY,
    "autofdo": ["--image *a*", *EVERY],
    "bolt": ["--image *a*", *EVERY],
    "coverage": ["--format lcov|--format cobertura|--format json", "--source *a*", "--image *a*", "in.ptl", *EVERY],
    "table": ["--format csv|--format json|--format rowbinary", "--no-header", "in.ptl", *EVERY],
    "sqlite": ["--no-calls", "in.ptl", *EVERY],
    "perf": ["--pid 101", INDEX],
    "ctf": [TIME, PID, INDEX],
    "pcapng": [TIME, PID, INDEX],
    "html": ["--max-size 1M", "--max-slices 10", "--max-paths 3|--max-functions 2", "--max-sources 1", "in.ptl", *EVERY],
    "open": ["--max-events 2", "--json", *EVERY],
}
# Required arguments before the trace, one of each list.
OPERANDS = {
    "table": [[name] for name in TABLES],
    "sqlite": [["-f", "-o", DATABASE]],
    "ctf": [["-f", "-o", FOLDER]],
    "perf": [["-f", "-o", DATA, "--buildid-dir", DATA + ".debug"]],
}


class Bad(Exception):
    """The output violates its format."""


def need(condition, what):
    if not condition:
        raise Bad(what)


def text(data):
    """Checks that a text is UTF-8 without control characters, except line ends and tabs."""
    words = data.decode("utf-8")
    bad = re.search("[\0-\x08\x0b\x0c\x0e-\x1f\x7f]", words)
    need(not bad, f"a control character: {bad and words[max(bad.start() - 40, 0):bad.end()]!r}")
    return words


def numbers(words):
    need(all(re.fullmatch(r"\d+", word) for word in words), f"no numbers: {words}")


def read_json(words):
    def refuse(name):
        raise Bad(f"JSON has no {name}")

    def unique(pairs):
        need(len({key for key, _ in pairs}) == len(pairs), f"a key twice: {[key for key, _ in pairs]}")
        return dict(pairs)

    return json.loads(words, parse_constant=refuse, object_pairs_hook=unique)


def read_xml(data):
    parser = xml.parsers.expat.ParserCreate()
    parser.Parse(text(data), True)


# ---- a reader for each format ------------------------------------------------------------------------------------


def flamegraph(data, options):
    if "--folded" not in options:
        read_xml(data)
        return
    two = options.count("in.ptl") > 1
    for line in text(data).splitlines():
        match = re.fullmatch(r"(.+?) (\d+)" + (r" (\d+)" if two else ""), line)
        need(match and all(match.group(1).split(";")), f"no folded stack: {line[:100]}")


def speedscope(data, _):
    profile = read_json(text(data))
    frames = len(profile["shared"]["frames"])
    for one in profile["profiles"]:
        need(len(one["samples"]) == len(one["weights"]), "samples without a weight")
        need(all(0 <= frame < frames for sample in one["samples"] for frame in sample), "a frame that is not there")


def timeline(data, options):
    if "chrome" in options:
        events = read_json(text(data))["traceEvents"]
        need(all("ph" in event for event in events), "an event without a phase")
    else:
        perfetto_file.read(data)


def pcapng(data, _):
    try:
        pcapng_file.read(data)
    except pcapng_file.Bad as bad:
        raise Bad(bad) from bad


def pprof(data, _):
    profile = perfetto_file.fields(gzip.decompress(data))
    texts = [value.decode("utf-8") for value in perfetto_file.every(profile, 6)]
    need(texts[0] == "" and len(set(texts)) == len(texts), "strings twice, or the first of them not empty")

    def ids(number):
        return {perfetto_file.one(perfetto_file.fields(one), 1) for one in perfetto_file.every(profile, number)}

    functions, locations = ids(5), ids(4)
    for function in map(perfetto_file.fields, perfetto_file.every(profile, 5)):
        need(perfetto_file.one(function, 2, 0) < len(texts), "a name that is not there")
    for location in map(perfetto_file.fields, perfetto_file.every(profile, 4)):
        for line in perfetto_file.every(location, 4):
            need(perfetto_file.one(perfetto_file.fields(line), 1) in functions, "a function that is not there")
    for sample in map(perfetto_file.fields, perfetto_file.every(profile, 2)):
        packed, at = perfetto_file.one(sample, 2), 0
        while at < len(packed):
            number, at = perfetto_file.varint(packed, at)
            need(number < 1 << 63, "a negative value")
        packed, at = perfetto_file.one(sample, 1, b""), 0
        while at < len(packed):
            number, at = perfetto_file.varint(packed, at)
            need(number in locations, "a location that is not there")


def callgrind(data, _):
    kinds = (r"# callgrind format", r"(version|creator|pid|cmd|part|positions|events|event|summary|totals|desc): .*",
             r"(ob|fl|fi|fe|fn|cob|cfi|cfl|cfn)=\(\d+\)( .*)?", r"calls=\d+ [0-9x+*a-f-]+", r"[0-9x+*a-f-]+( \d+){0,2}", "")
    for line in text(data).split("\n"):
        need(any(re.fullmatch(kind, line) for kind in kinds), f"no line of callgrind: {line[:100]!r}")


def autofdo(data, _):
    for line in text(data).splitlines():
        need(re.fullmatch(r"\S.*:\d+:\d+| +\d+(\.\d+)?: (\d+|\S.*:\d+)( \S+:\d+)*", line), f"no line of a sample profile: {line[:100]!r}")


def bolt(data, _):
    place = r"(0 \[unknown\] 0|1 (\\.|[^ ])+ [0-9a-f]+)"
    for line in text(data).split("\n")[:-1]:
        need(re.fullmatch(rf"{place} {place} 0 [1-9]\d*", line), f"no line of fdata: {line[:100]!r}")


def coverage(data, options):
    if "cobertura" in options:
        read_xml(data)
    elif "lcov" in options:
        for line in text(data).split("\n"):
            need(re.fullmatch(r"((TN|SF):.*|FN:\d+,.+|FNDA:\d+,.*|BRDA:\d+,\d+,\d+,(\d+|-)|DA:\d+,\d+|"
                              r"(FNF|FNH|BRF|BRH|LF|LH):\d+|end_of_record)?", line), f"no line of lcov: {line[:100]!r}")
    elif "json" in options:
        for line in text(data).splitlines():
            read_json(line)
    else:
        text(data)


def table(data, options):
    if "rowbinary" in options:
        return
    words = data.decode("utf-8")
    if "json" in options:
        rows = [sorted(read_json(line)) for line in words.splitlines() if line]
    elif "csv" in options:
        csv.field_size_limit(1 << 30)
        rows = [[""] * len(row) for row in csv.reader(io.StringIO(words, newline=""), strict=True)]
    else:
        need(words.endswith("\n") or not words, "a line without an end")
        rows = [[""] * len(row.split("\t")) for row in words[:-1].split("\n")] if words else []
    need(all(row == rows[0] for row in rows), "rows with other columns")


def sqlite(folder, _):
    with sqlite3.connect(f"file:{folder}/{DATABASE}?mode=ro", uri=True) as database:
        need(database.execute("pragma integrity_check").fetchall() == [("ok",)], "a damaged database")
        need(not database.execute("pragma foreign_key_check").fetchall(), "rows that refer to none")
        views = database.execute("select name from sqlite_master where type = 'view'").fetchall()
        for (name,) in views:
            try:
                database.execute(f"select * from {name} limit 10").fetchall()
            except sqlite3.OperationalError as error:
                # SQLite refuses a sum beyond 64 bits.
                need(str(error) == "integer overflow", f"view {name}: {error}")
    database.close()


def ctf(folder, _):
    with open(os.path.join(folder, FOLDER, "metadata"), "rb") as file:
        metadata = text(file.read())
    need(metadata.startswith("/* CTF 1.8"), "no metadata")
    need(os.path.exists(os.path.join(folder, FOLDER, "stream")), "no stream")


def perf(folder, _):
    with open(os.path.join(folder, DATA), "rb") as file:
        data = file.read()
    need(data[:8] == b"PERFILE2", "no perf.data")
    at, size = (int.from_bytes(data[k:k + 8], "little") for k in (40, 48))
    end = at + size
    need(end <= len(data), "data behind the end of the file")
    while at < end:
        kind, length = int.from_bytes(data[at:at + 4], "little"), int.from_bytes(data[at + 6:at + 8], "little")
        need(length >= 8 and length % 8 == 0, f"a record of {length} bytes")
        # The bytes of trace data follow the record.
        at += length + (int.from_bytes(data[at + 8:at + 16], "little") if kind == 71 else 0)
    need(at == end, "a record that ends behind the data")


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.tags, self.data, self.element = {}, {}, None

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags[tag] = self.tags.get(tag, 0) + 1
        need(not any(name.startswith("on") for name in attrs) and "src" not in attrs, f"a script in <{tag}>")
        self.element = attrs.get("id") if attrs.get("type") == "application/json" else None

    def handle_endtag(self, tag):
        self.element = None

    def handle_data(self, data):
        if self.element:
            self.data[self.element] = self.data.get(self.element, "") + data


def page(data, options):
    need("--max-size" not in options or len(data) <= 1 << 20, f"{len(data)} bytes")
    reader = Page()
    reader.feed(data.decode("utf-8"))
    for words in reader.data.values():
        read_json(words)
    need(reader.tags["script"] == len(reader.data) + 1, "another script than its own")


def opened(data, options):
    name = read_json(data)["page"] if "--json" in options else data.decode().strip()
    with open(name, "rb") as file:
        page(file.read(), options)
    os.remove(name)


READERS = {"flamegraph": flamegraph, "speedscope": speedscope, "timeline": timeline, "pprof": pprof, "callgrind": callgrind,
           "autofdo": autofdo, "bolt": bolt, "coverage": coverage, "table": table, "html": page, "open": opened,
           "pcapng": pcapng}
FOLDER_READERS = {"sqlite": sqlite, "ctf": ctf, "perf": perf}


def wrong(name, folder, data, options):
    """Returns the error of an output, or None. data: all of standard output. options: words of the command."""
    try:
        if name in READERS:
            READERS[name](data, options)
        else:
            FOLDER_READERS[name](folder, options)
    except Bad as error:
        return str(error)
    except (ValueError, KeyError, IndexError, TypeError, csv.Error, sqlite3.Error, xml.parsers.expat.ExpatError, OSError,
            EOFError, gzip.zlib.error) as error:
        return f"{type(error).__name__}: {error}"
    return None
