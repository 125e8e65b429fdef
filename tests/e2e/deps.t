#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# packaging/deps, which `make deps` runs: what it installs, and what it says where it cannot. Programs of the test's own stand in
# for those of the system, so that nothing is installed.
import os
import shutil

from scratch_test import check, path, plan, run

DEPS = os.path.join(os.path.dirname(os.environ["PTL_TESTS"]), "packaging", "deps")
HERE = path("bin")


def program(name, text):
    with open(os.path.join(HERE, name), "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n" + text + "\n")
    os.chmod(os.path.join(HERE, name), 0o755)


def deps(*packages):
    if os.path.exists(path("log")):
        os.unlink(path("log"))
    done = run(DEPS, *packages, env={"PATH": HERE})
    done.log = open(path("log"), encoding="utf-8").read() if os.path.exists(path("log")) else ""
    return done


os.makedirs(HERE)
for name in ("sh", "awk", "tr", "env", "cat"):
    os.symlink(shutil.which(name), os.path.join(HERE, name))
program("dpkg-query", r"printf 'installed zstd \ninstalled libdebuginfod1t64 libdebuginfod1 (= 0.192-4)\nconfig-files nasm \n'")
program("id", "echo 1000")

done = deps("zstd", "libdebuginfod1")
check("nothing is missing", done.returncode == 0 and not done.stdout + done.stderr, done)
done = run(DEPS, "--missing", "zstd", "nasm", "none|zstd", "one|other", env={"PATH": HERE})
check("--missing tells what is missing", done.stdout.split() == ["nasm", "one|other"], done)
done = deps("nasm")
check("a system without apt-get", done.returncode == 1 and "no apt-get; missing packages, as Debian calls them: nasm" in done.stderr and
      "NO_PACKAGE_CHECK=1" in done.stderr, done)
program("apt-cache", '[ "$2" = other ] || [ "$2" = nasm ]')
program("apt-get", f'echo "$@" >>"{path("log")}"; exit 0')
done = deps("nasm", "one|other")
check("a user without sudo is told what root types", done.returncode == 1 and not done.log and
      "as root: apt-get install --no-install-recommends nasm other" in done.stderr, done)
program("sudo", 'echo "nobody is not in the sudoers file" >&2; exit 1')
done = deps("nasm")
check("nor is a user whom sudo permits nothing left alone", done.returncode == 1 and not done.log and "sudo permits this user nothing" in done.stderr and
      "as root: apt-get install" in done.stderr, done)
program("sudo", '"$@"')
done = deps("zstd", "nasm", "one|other")
check("a user with sudo gets what is missing, by the name that apt knows", done.returncode == 0 and done.log.count("\n") == 1 and
      done.log.rstrip().endswith("install nasm other"), done, done.log)
program("apt-get", f'echo "$@" >>"{path("log")}"; [ "$2" = update ] || grep -q update "{path("log")}"')
os.symlink(shutil.which("grep"), os.path.join(HERE, "grep"))
done = deps("nasm")
check("lists that are old are fetched again", done.returncode == 0 and [line.split()[-1] for line in done.log.splitlines()] == ["nasm", "update", "nasm"],
      done, done.log)
program("apt-get", f'echo "$@" >>"{path("log")}"; echo "E: Unable to locate package" >&2; exit 100')
done = deps("nasm")
check("without a network apt-get's words and what to do are shown", done.returncode == 1 and "E: Unable to locate package" in done.stderr and
      "did not install the packages: nasm" in done.stderr and "a network" in done.stderr, done)
plan()
