#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Front ends of gdb step backwards with ptl-dump gdb --listen: the machine interface as the extension cppdbg uses it, and the Debug
# Adapter Protocol of gdb 14 and later.
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from gdb_test import GDB, build, record
from scratch_test import DUMP, check, path, plan, run, scratch, skip


class Server:
    """ptl-dump gdb --listen."""

    def __enter__(self):
        self.process = subprocess.Popen([DUMP, "gdb", "--listen", "0", "deaths.ptl"], cwd=scratch, stdout=subprocess.PIPE, text=True)
        return self.process.stdout.readline().split()[-1]

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Adapter:
    """A client of gdb's Debug Adapter Protocol."""

    def __init__(self):
        self.gdb = subprocess.Popen([GDB, "-nx", "-q", "-i=dap"], cwd=scratch, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.number = 0
        self.events = []

    def send(self, command, **arguments):
        self.number += 1
        body = json.dumps({"seq": self.number, "type": "request", "command": command, "arguments": arguments}).encode()
        self.gdb.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.gdb.stdin.flush()
        return self.number

    def read(self):
        size = 0
        while (line := self.gdb.stdout.readline().strip()):
            size = int(line.split(b":")[1]) if line.lower().startswith(b"content-length:") else size
        return json.loads(self.gdb.stdout.read(size)) if size else None

    def answer(self, number):
        while (message := self.read()):
            if message["type"] == "response" and message["request_seq"] == number:
                return message
            self.events.append(message)
        return {"success": False}

    def request(self, command, **arguments):
        return self.answer(self.send(command, **arguments))

    def wait(self, event):
        """The first event of this kind that was not waited for before."""
        while not any(message.get("event") == event for message in self.events):
            message = self.read()
            if not message:
                return None
            self.events.append(message)
        at = next(i for i, message in enumerate(self.events) if message.get("event") == event)
        return self.events.pop(at).get("body", {})


def machine_interface():
    """What cppdbg sends with miDebuggerServerAddress: a command once the program has stopped."""
    with Server() as target, subprocess.Popen([GDB, "-nx", "-q", "-i=mi3"], cwd=scratch, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as mi:
        said = []

        def send(command):
            """The result, and for a command that runs the program, the stop."""
            mi.stdin.write(command + "\n")
            mi.stdin.flush()
            found = ""
            for line in mi.stdout:
                said.append(line.rstrip())
                if re.match(r"\^(done|error|connected|exit)|\*stopped", line):
                    found = line
                    # A stop comes before the result of the connection.
                    if command.startswith("-exec") or not line.startswith("*"):
                        break
            return found

        send("-gdb-set target-async on")
        send(f"-file-exec-and-symbols {path('deaths')}")
        send(f"-target-select remote {target}")
        threads = send("-thread-info")
        check("the list of threads has the thread", re.match(r'\^done,threads=\[\{id="1".*state="stopped"', threads), threads, *said[-10:])
        for command in "-exec-step-instruction --reverse", "-exec-next --reverse", "-exec-step --reverse":
            got = send(command)
            check(command, re.match(r'\*stopped,reason="end-stepping-range".*func="die_of_fault"', got), got, *said[-10:])
        frames = send("-stack-list-frames")
        check("frames have lines", re.match(r'\^done,stack=\[frame=\{level="0".*func="die_of_fault".*line="\d+".*level="1".*func="main"', frames), frames)
        send("-break-insert --qualified die_of_fault")
        got = send("-exec-continue --reverse")
        check("a breakpoint stops backwards", re.match(r'\*stopped,reason="breakpoint-hit".*func="die_of_fault"', got), got, *said[-10:])
        got = send("-exec-finish --reverse")
        check("finish goes to the caller backwards", re.match(r'\*stopped.*func="main"', got), got, *said[-10:])
        got = send("-exec-next")
        check("and next goes forwards again", re.match(r'\*stopped.*func="(main|die_of_fault)"', got), got, *said[-10:])
        send("-gdb-exit")


def adapter(version):
    with Server() as target:
        client = Adapter()
        features = client.request("initialize", adapterID="gdb", linesStartAt1=True)["body"]
        attaching = client.send("attach", target=target, program=path("deaths"))
        client.wait("initialized")
        client.request("configurationDone")
        attached = client.answer(attaching)
        check("the adapter attaches to the server", attached["success"], attached)
        thread = client.request("threads")["body"]["threads"][0]["id"]

        def top():
            frames = client.request("stackTrace", threadId=thread)["body"]["stackFrames"]
            return [(frame["name"], frame.get("line")) for frame in frames[:2]]

        def back(command):
            got = client.request("evaluate", expression=command, context="repl")
            return got["success"] and client.wait("stopped")

        client.wait("stopped")
        back("reverse-stepi")
        crashed = top()
        check("the adapter shows the crash and its caller", [name for name, _ in crashed] == ["die_of_fault", "main"], crashed)
        back("reverse-step")
        before = top()
        check("reverse-step of the console goes to the line before", before[0][0] == "die_of_fault" and before[0][1] < crashed[0][1], before, crashed)
        got = client.request("setFunctionBreakpoints", breakpoints=[{"name": "main"}])
        stopped = got["success"] and back("reverse-continue")
        check("reverse-continue of the console stops at a breakpoint", stopped and stopped["reason"] == "breakpoint" and top()[0][0] == "main", stopped, got)
        if features.get("supportsStepBack"):
            check("stepBack", client.request("stepBack", threadId=thread)["success"])
            check("reverseContinue", client.request("reverseContinue", threadId=thread)["success"])
        else:
            got = [client.request(request, threadId=thread)["success"] for request in ("stepBack", "reverseContinue")]
            check(f"gdb {version} offers no stepBack and no reverseContinue, and refuses both", got == [False, False], got)
        client.gdb.kill()
        client.gdb.communicate()


if not shutil.which(GDB):
    skip("gdb steps backwards", "there is no gdb")
else:
    build("deaths", "-O0")
    record("deaths.ptl", path("deaths"), "segv")
    machine_interface()
    found = int(re.search(r"GNU gdb \D*\D(\d+)\.", run(GDB, "--version").stdout)[1])
    if found < 14:
        skip("the Debug Adapter Protocol", f"gdb {found} has none")
    else:
        adapter(found)
plan()
