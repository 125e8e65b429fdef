#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# The shared libraries keep their promises; and the check of that (packaging/abi) sees when one does not.
import os
import re
import shutil

from scratch_test import check, path, plan, run

ROOT = os.path.dirname(os.environ["PTL_TESTS"])
LIB = os.environ["PTL_LIB"]


def abi(root, *arguments):
    return run(os.path.join(root, "packaging", "abi"), *arguments, LIB)


got = abi(ROOT)
check("the ABI is the recorded one", got.returncode == 0 and not got.stdout, got.stdout, got.stderr)

for folder in ("packaging", "debian", "format/include", "provider/include", "flow/include", "analysis/include", "common/version.h"):
    target = path("copy/" + folder)
    if os.path.isdir(os.path.join(ROOT, folder)):
        shutil.copytree(os.path.join(ROOT, folder), target, copy_function=shutil.copyfile)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(os.path.join(ROOT, folder), target)
for folder, _, names in os.walk(path("copy")):
    os.chmod(folder, 0o755)
os.chmod(path("copy/packaging/abi"), 0o755)
got = abi(path("copy"))
check("and that of a copy, too", got.returncode == 0, got.stdout, got.stderr)


def changed(what, header, pattern, replacement, breaks, says):
    """What the check says of a copy whose header has been changed."""
    name = path("copy/" + header)
    with open(name, encoding="utf-8") as file:
        before = file.read()
    after = re.sub(pattern, replacement, before, count=1)
    with open(name, "w", encoding="utf-8") as file:
        file.write(after)
    done = abi(path("copy"))
    with open(name, "w", encoding="utf-8") as file:
        file.write(before)
    check(what, after != before and done.returncode == 1 and says in done.stdout and
          ("would break" in done.stdout) == breaks, done.stdout, done.stderr)


READER, FLOW, ERROR = "format/include/ptl/reader.h", "flow/include/ptl/flow.h", "format/include/ptl/error.h"
changed("a function that is gone", READER, r"void ptl_close\(.*\n", "", True, "void ptl_close(")
changed("another type of a parameter", READER, r"size_t ptl_stream_count\(const struct", "size_t ptl_stream_count(struct", True,
        "ptl_stream_count")
changed("a structure with another member", READER, r"\tint status; ", "\tint colour;\n\tint status; ", True, "struct ptl_damage")
changed("a member at the end of a structure without size", READER, r"(\tconst char \*text;[^\n]*\n)", r"\1\tint more;\n", True,
        "struct ptl_damage")
changed("one at the end of a structure with its size", FLOW, r"(\tvoid \*progress_context;\n)", r"\1\tint more;\n", False,
        "struct ptl_flow_options")
changed("one in the middle of it", FLOW, r"(\tvoid \*progress_context;\n)", r"\tint more;\n\1", True, "struct ptl_flow_options")
changed("new options without their size", READER, r"(struct ptl_damage \{)", r"struct ptl_read_options { int more; };\n\1", True,
        "struct ptl_read_options does not begin with its size")
changed("another number of a status", ERROR, r"PTL_CORRUPT = -3", "PTL_CORRUPT = -33", True, "enum ptl_status")
changed("a new function", READER, r"(void ptl_close\(.*\n)", r"\1void ptl_close_again(struct ptl_trace *trace);\n", False,
        "ptl_close_again")
changed("a name that the library has not", "debian/libptl0.symbols", r" ptl_open@", " ptl_open_it@", True, "ptl_open_it")
changed("a name that is not recorded", "debian/libptl-flow0.symbols", r" ptl_flow_run@.*\n", "", False, "ptl_flow_run")

plan()
