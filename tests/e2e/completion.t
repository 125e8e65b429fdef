#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Every option of every program is in its help and its manual page, and bash and zsh offer it, and its words.
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from record_test import BIN, Skip, expect, expect_equal, main

MAN = os.path.join(os.environ["PTL_TESTS"], os.pardir, "man")
COMPLETION = os.path.join(MAN, "completion")
ENVIRONMENT = {**os.environ, "PATH": BIN + ":" + os.environ["PATH"], "TERM": "xterm"}


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=120,
                          env=ENVIRONMENT)
    expect_equal(done.returncode, 0, *command, done.stderr)
    return done.stdout


COMMANDS = run("ptl-dump", "--list-commands").split()
# What is typed before the options, and the manual page that explains them.
LINES = [(("ptl-record", *command), "ptl-record.1") for command in
         ((), ("check",), ("list",), ("query",), ("update",), ("flush",), ("snapshot",), ("stop",))] + \
        [(("ptl-relog",), "ptl-relog.1")] + \
        [(("ptl-dump", command), "ptl-dump.1") for command in COMMANDS]


def options(line):
    return [word for word in run(*line, "--completion-words").split() if word.startswith("--")]


def words(line, option):
    return sorted(run(*line, "--completion-words=" + option.strip("-=")).split())


def bash_offers(*line):
    """What bash offers for the last word of the line."""
    name = line[0].replace("-", "_")
    script = "compopt() { :; }; . '%s/%s.bash'; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _%s; " \
             "printf '%%s\\n' \"${COMPREPLY[@]}\"" % (COMPLETION, line[0], name)
    return sorted(run("bash", "-c", script, "bash", *line).split())


def zsh_offers(lines):
    """What zsh offers at the end of each line."""
    if not shutil.which("zsh"):
        raise Skip("zsh is not installed")
    script = os.path.join(os.environ["PTL_TESTS"], "tools", "zsh_offers.zsh")
    found = run("zsh", "-f", script, COMPLETION, *lines).split("--\n")
    expect_equal(len(found), len(lines) + 1)
    return [sorted(set(offers.split())) for offers in found[:-1]]


def help_and_manual():
    """every option is in --help=all and in the manual page"""
    for line, page in LINES:
        with open(os.path.join(MAN, page), encoding="utf-8") as file:
            manual = file.read()
        shown = run(*line, "--help=all")
        found = options(line)
        expect("--help" in found, "no options:", *line)
        for option in found:
            name = option.strip("-=")
            expect(re.search(r"--%s\b" % name, shown), "no", option, "in the help of", *line)
            expect(re.search(r"Fl -%s\b" % name, manual), "no", option, "in", page)


def letters():
    """a letter stands for the same option in all commands of all programs"""
    shown = re.compile(r"^ +-(\w), --([\w-]+)((?:\[=| )?[^ ]*)?", re.M)
    meanings, count = {}, 0
    for line, _ in LINES + [(("ptl-record", "start", "NAME"), "")]:
        for letter, name, argument in shown.findall(run(*line, "--help=all")):
            meanings.setdefault(letter, {}).setdefault((name, bool(argument.strip())), []).append(" ".join(line))
            count += 1
    expect(count > 100, count)
    for letter, found in sorted(meanings.items()):
        expect_equal(len(found), 1, "-" + letter, found)
    # Each letter works, with the same long option: an unknown letter is refused.
    done = subprocess.run(("ptl-dump", "calls", "-n", "3", "no.ptl"), capture_output=True, text=True, check=False, env=ENVIRONMENT)
    expect_equal((done.returncode, "there is no option -n" in done.stderr), (2, True), done.stderr)


def manual_alone():
    """no manual page explains an option that is not there"""
    for page in sorted({page for _, page in LINES}):
        known = {option.rstrip("=") for line, of in LINES if of == page for option in options(line)}
        with open(os.path.join(MAN, page), encoding="utf-8") as file:
            explained = {"-" + name for item in re.findall(r"^\.It (Fl .*)$", file.read(), re.M) for name in re.findall(r"Fl (-[a-z0-9-]+)", item)}
        expect(len(explained) > 20, page, explained)
        expect_equal(explained - known, set(), page)


def with_words():
    """(line, option, words) for each option that takes one of some words."""
    for line, _ in LINES:
        for option in options(line):
            if option.endswith("=") and words(line, option):
                yield line, option, words(line, option)


def bash():
    """bash offers the options and their words"""
    expect_equal(bash_offers("ptl-dump", ""), sorted([*COMMANDS, "help"]))
    for line, _ in LINES:
        expect_equal(bash_offers(*line, "--"), sorted(options(line)), *line)
    for line, option, wanted in with_words():
        expect_equal(bash_offers(*line, option[:-1], "=", ""), wanted, *line, option)


def zsh():
    """zsh offers the options and their words"""
    chosen = list(with_words())
    lines = ["ptl-dump "] + [" ".join(line) + " --" for line, _ in LINES] + \
            [" ".join(line) + " " + option for line, option, _ in chosen]
    offers = zsh_offers(lines)
    expect_equal(offers[0], sorted([*COMMANDS, "help"]))
    for (line, _), offered in zip(LINES, offers[1:]):
        expect_equal(offered, sorted(option.rstrip("=") for option in options(line)), *line)
    for (line, option, wanted), offered in zip(chosen, offers[1 + len(LINES):]):
        expect_equal(offered, wanted, *line, option)


sys.exit(main([help_and_manual, letters, manual_alone, bash, zsh]))
