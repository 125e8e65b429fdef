#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# debian/ goes with the rest, as far as it can be seen without building packages; `make check-deb` builds and installs them.
import glob
import os
import re
import shutil

from scratch_test import check, path, plan, run

ROOT = os.path.dirname(os.environ["PTL_TESTS"])
BUILD = os.path.dirname(os.environ["PTL_BIN"])
MULTIARCH = "x86_64-linux-gnu"


def text(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


# As debian/rules calls it.
got = run("make", "-s", "O=" + os.path.relpath(BUILD, ROOT), "NO_PACKAGE_CHECK=1", "DESTDIR=" + path("tmp"), "PREFIX=/usr",
          f"LIBDIR=/usr/lib/{MULTIARCH}", "ZSHDIR=/usr/share/zsh/vendor-completions", "install", "install-python", cwd=ROOT,
          env={name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))})
check("what packages are made of is installed", got.returncode == 0, got.stderr)
os.remove(path("tmp/usr/share/doc/ptl/LICENSE"))  # debian/copyright has it

packages = re.findall(r"^Package: (\S+)$", text("debian/control"), re.M)
owners = {}
missing = []
for package in packages:
    for pattern in text(f"debian/{package}.install").split():
        found = glob.glob(os.path.join(glob.escape(path("tmp")), pattern))
        if not found:
            missing.append((package, pattern))
        for name in found:
            inside = [os.path.join(folder, one) for folder, _, names in os.walk(name) for one in names]
            for one in inside if os.path.isdir(name) else [name]:
                owners.setdefault(one, []).append(package)
check("each line of a .install file has files", len(packages) >= 7 and not missing, missing)
installed = [os.path.join(folder, name) for folder, _, names in os.walk(path("tmp")) for name in names]
check("each installed file is in one package", len(installed) > 40 and all(len(owners.get(name, [])) == 1 for name in installed),
      *[(os.path.relpath(name, path("tmp")), owners.get(name)) for name in installed if len(owners.get(name, [])) != 1])
version = re.search(r'COMMON_VERSION "(.*)"', text("common/version.h")).group(1)
check("the newest entry of debian/changelog has the version", text("debian/changelog").startswith(f"ptl ({version}"))
declared = set(re.search(r"^Build-Depends: ((?:.*\n)(?: .*\n)*)", text("debian/control"), re.M).group(1)
               .replace(",", " ").split())
needed = re.search(r"^BUILD_PACKAGES := ((?:.*\\\n)*.*)", text("Makefile"), re.M).group(1).replace("\\", " ").split()
lacks = [name for name in needed if name not in declared | {"gcc", "libc6-dev"}]  # build-essential
check("what `make deps` installs to build is what packages are built with", len(needed) > 5 and not lacks, lacks)
dumped = shutil.which("dpkg-parsechangelog")
if dumped:
    got = run(dumped, "-l", os.path.join(ROOT, "debian/changelog"))
    check("dpkg reads debian/changelog", got.returncode == 0 and not got.stderr, got.stderr)
plan()
