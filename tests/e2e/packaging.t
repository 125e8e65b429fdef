#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# What is built and packed does not depend on where and when. Whole builds are compared by `make check-packaging`.
import glob
import gzip
import os
import subprocess
import tarfile

from scratch_test import check, path, plan, run, scratch, skip

ROOT = os.path.dirname(os.environ["PTL_TESTS"])
PLACES = {os.path.realpath(ROOT), os.path.abspath(ROOT), os.path.realpath(os.path.dirname(os.environ["PTL_BIN"]))}


def mentions(name):
    with open(name, "rb") as file:
        data = file.read()
    # A folder of a short name, such as /src, may stand in a text: what is in it may not.
    return [place for place in PLACES for name in ("build", "common", "dump", "flow", "format", "ptl-dump")
            if os.fsencode(os.path.join(place, name)) in data]


built = [name for pattern in (os.environ["PTL_BIN"] + "/*", os.environ["PTL_LIB"] + "/*.so.*", os.environ["PTL_LIB"] + "/libptl*.a",
                              os.environ["PTL_LIB"] + "/ptl/*.so")
         for name in glob.glob(pattern)]
found = {name: mentions(name) for name in built if mentions(name)}
check("no program and no library says where it was built", len(built) > 8 and not found, built, found)

# Compilers of Ubuntu define _FORTIFY_SOURCE by themselves.
name = "the runtime of the software source calls nothing of libc"
if " " in scratch:
    skip(name, "make knows no folder with a blank in its name")
else:
    made = path("fortified/obj/runtime/record/software/runtime/translate_plain.o")
    done = run("make", "-s", "-C", ROOT, "O=" + path("fortified"), "CC=gcc -D_FORTIFY_SOURCE=3", "NO_PACKAGE_CHECK=1", made)
    names = run("nm", "-u", made).stdout.split()
    check(name, done.returncode == 0 and "memcpy" in names and not [one for one in names if one.endswith("_chk")], done, names)

# ---- make dist -----------------------------------------------------------------------------------------------------------


def git(*arguments):
    return run("git", "-c", "user.name=Test", "-c", "user.email=test@example.org", *arguments, cwd=path("sources"), env={
        "PATH": os.environ["PATH"], "HOME": scratch, "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_DATE": "1700000000 +0000",
        "GIT_COMMITTER_DATE": "1700000000 +0000"})


def dist(output, mask, zone):
    return run("make", "-s", "-C", path("sources"), "O=" + output, "dist", env={
        "PATH": os.environ["PATH"], "HOME": scratch, "TZ": zone, "GIT_CONFIG_NOSYSTEM": "1"}, preexec_fn=lambda: os.umask(mask))


if not any(os.access(os.path.join(folder, "git"), os.X_OK) for folder in os.environ["PATH"].split(":")):
    skip("make dist", "there is no git")
else:
    # The files that it takes to make one: a repository of its own.
    os.makedirs(path("sources/common"))
    for name in ("Makefile", "packaging", "common/version.h", "testdata/programs/flags.mk"):
        subprocess.run(["cp", "-rL", "--parents", "--no-preserve=mode", name, path("sources")], cwd=ROOT, check=True)
    os.chmod(path("sources/packaging/static-zydis"), 0o755)
    with open(path("sources/.gitignore"), "w", encoding="ascii") as file:
        file.write("/one/\n/two/\n")
    made = [git("init", "-q"), git("add", "-A"), git("commit", "-qm", "sources")]
    check("a repository is made", all(step.returncode == 0 for step in made), *(step.stderr for step in made))
    got = [dist("one", 0o022, "UTC"), dist("two", 0o077, "Asia/Kathmandu")]
    check("make dist works", all(step.returncode == 0 and not step.stderr for step in got), *(step.stderr for step in got))
    names = glob.glob(path("sources/*/dist/ptl-*.tar.gz"))
    data = [open(name, "rb").read() for name in names]
    check("two tarballs are equal, whatever the umask and time zone", len(data) == 2 and data[0] == data[1], names)
    check("the name of the file and the time are not in it", data and data[0][3:8] == bytes(5), data[0][:16] if data else "")
    with tarfile.open(names[0]) as archive:
        members = archive.getmembers()
    top = os.path.basename(names[0])[:-len(".tar.gz")]
    check("everything is in one folder, of the tarball's name", all(member.name.split("/")[0] == top for member in members) and
          {top + "/Makefile", top + "/common/version.h"} <= {member.name for member in members}, members[:5])
    check("modes and times are those of the commit", all(member.mtime == 1700000000 and member.mode in (0o644, 0o755)
                                                        for member in members if member.isfile()) and
          any(member.mode == 0o755 for member in members if member.name.endswith("static-zydis")), members[:5])
    check("it is whole", len(gzip.decompress(data[0])) % 512 == 0)
    with open(path("sources/common/version.h"), "a", encoding="ascii") as file:
        file.write("/* changed */\n")
    got = dist("one", 0o022, "UTC")
    with open(glob.glob(path("sources/one/dist/*.gz"))[0], "rb") as file:
        check("what is not committed is left out, and it says so", got.returncode == 0 and "left out" in got.stderr and
              file.read() == data[1], got.stderr)
    os.rename(path("sources/.git"), path("git"))
    got = dist("one", 0o022, "UTC")
    check("without a repository it says why not", got.returncode != 0 and "git repository" in got.stderr, got.stderr)

plan()
