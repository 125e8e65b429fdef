#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump serve: a scripted client. Answers are those of the commands, bounded, and say what was left out; hostile messages get
# errors, and the server goes on. Python's json reads all that the server writes.
import json
import os
import subprocess

from scratch_test import DUMP, RECORD, check, output, path, plan, read, run, scratch, write

PROGRAMS = os.environ["PTL_PROGRAMS"]


class Client:
    def __init__(self, *arguments, **more):
        self.process = subprocess.Popen([DUMP, "serve", *arguments], cwd=scratch, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
        self.number = 0

    def send(self, *messages):
        """In one write."""
        data = b"".join(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n" for message in messages)
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def receive(self):
        line = self.process.stdout.readline()
        if not line.endswith(b"\n"):
            raise EOFError(f"no answer: {line!r}")
        return json.loads(line.decode())

    def ask(self, method, params=None):
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, **({} if params is None else {"params": params})})
        answer = self.receive()
        if answer.get("jsonrpc") != "2.0" or answer.get("id") != self.number or ("result" in answer) == ("error" in answer):
            raise ValueError(f"no answer to {self.number}: {answer}")
        return answer

    def call(self, tool, **arguments):
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def end(self):
        self.process.stdin.close()
        left = self.process.stdout.read()
        said = self.process.stderr.read().decode()
        return self.process.wait(), left, said


def records(*arguments):
    """JSON lines of a command, and its status."""
    got = run(DUMP, *arguments)
    return [json.loads(line) for line in got.stdout.splitlines()], got


# ---- traces ----------------------------------------------------------------------------------------------------------

write("serve.c", """
#include <signal.h>
static volatile unsigned sink;
__attribute__((noinline)) void work(unsigned n) { for (unsigned i = 0; i < n; i++) sink += i; }
__attribute__((noinline)) void serve(unsigned n) { work(n); }
int main(void) { for (unsigned i = 1; i <= 40; i++) serve(i % 10 == 0 ? 50000 : 1000); raise(SIGSEGV); return 0; }
""")
output("gcc", "-g", "-O1", "-o", "served", "serve.c", "-I", scratch)
run(RECORD, "-q", "--psb-period", "4K", "--source", "software", "-o", "a.ptl", "--", "./served")
output(RECORD, "-q", "--source", "none", "-p", "PTL-Test-Writer", "-o", "events.ptl", "--",
       os.path.join(PROGRAMS, "provider_writer"), "count=30000")

# ---- the protocol ----------------------------------------------------------------------------------------------------

client = Client("a.ptl")
answer = client.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {"roots": {}},
                                   "clientInfo": {"name": "test", "version": "1"}})["result"]
check("initialize", answer["protocolVersion"] == "2025-06-18" and "tools" in answer["capabilities"]
      and answer["serverInfo"]["name"] == "ptl-dump" and answer["serverInfo"]["version"] and answer["instructions"], answer)
client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
check("a notification gets no answer", client.ask("ping") == {"jsonrpc": "2.0", "id": 2, "result": {}})
check("another version is answered with this server's",
      client.ask("initialize", {"protocolVersion": "1999-01-01"})["result"]["protocolVersion"] == "2025-06-18")
tools = {tool["name"]: tool for tool in client.ask("tools/list")["result"]["tools"]}
check("tools/list", list(tools) == ["info", "crash", "why", "calls", "report", "events", "source"], tools)
for name, tool in tools.items():
    schema = tool["inputSchema"]
    check(f"{name}: description and schemas", tool["description"] and tool["title"] and schema["type"] == "object"
          and {"limit", "skip"} <= set(schema["properties"]) and not schema["additionalProperties"]
          and tool["outputSchema"]["type"] == "object" and tool["annotations"]["readOnlyHint"], tool)
try:
    import jsonschema
    for name, tool in tools.items():
        jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])
        jsonschema.Draft202012Validator.check_schema(tool["outputSchema"])
    OUTPUT = jsonschema.Draft202012Validator(tools["info"]["outputSchema"])
except ImportError:
    OUTPUT = None
check("tools/list has no pages", client.ask("tools/list", {"cursor": "x"})["error"]["code"] == -32602)

# ---- answers are those of the commands ---------------------------------------------------------------------------------

QUESTIONS = (
    ("info", {}, ["info"]),
    ("info", {"check": True}, ["info", "--check"]),
    ("crash", {}, ["crash"]),
    ("crash", {"most": 1, "lines": 3, "events": 2}, ["crash", "--most=1", "--lines=3", "--events=2"]),
    ("why", {"function": "serve"}, ["why", "serve"]),
    ("why", {"function": "serve", "slowest": "5%", "instructions": True}, ["why", "--slowest=5%", "--instructions", "serve"]),
    ("calls", {}, ["calls"]),
    ("calls", {"where": "function == serve", "events": True}, ["calls", "--where=function == serve", "--events"]),
    ("calls", {"calls": "serve: instructions > 100000", "min_instructions": 10},
     ["calls", "--calls=serve: instructions > 100000", "--min-instructions=10"]),
    ("report", {}, ["report"]),
    ("report", {"by": "inline", "sort": "total", "process": "served"}, ["report", "--by=inline", "--sort=total", "--process=served"]),
    ("events", {}, ["events"]),
    ("events", {"event": "Process/*", "time": "..1s"}, ["events", "--event=Process/*", "--time=..1s"]),
    ("events", {"count": True}, ["events", "--count"]),
    ("source", {"function": "serve"}, ["annotate", "serve"]),
    ("source", {"function": "work", "executed": True, "calls": "serve"}, ["annotate", "--executed", "--calls=serve", "work"]),
)
for tool, arguments, command in QUESTIONS:
    wanted, got = records(command[0], "--json", *command[1:], "a.ptl")
    result = client.call(tool, limit=10000, **arguments)["result"]
    content = result["structuredContent"]
    check(f"{tool} {arguments}: the records of the command", content["records"] == wanted and wanted,
          content["records"][:3], wanted[:3])
    check(f"{tool} {arguments}: status, messages, nothing left out",
          (content["exit_status"], content["messages"], content["left_out"], content["left_out_more"], content["next"],
           content["messages_left_out"], result["isError"]) == (got.returncode, got.stderr.splitlines(), 0, False, None, 0, False),
          result, got)
    page = client.call(tool, limit=2, skip=1, **arguments)["result"]["structuredContent"]
    again = client.call(tool, limit=10000, **arguments)["result"]
    check(f"{tool} {arguments}: the same again, and in pages", again == result and page["records"] == wanted[1:3] and
          page["left_out"] == max(0, len(wanted) - 3) and page["messages"] == content["messages"], again, page)
    check(f"{tool} {arguments}: text for older clients", [json.loads(part["text"]) for part in result["content"]] == [content])
    if OUTPUT:
        check(f"{tool} {arguments}: the output schema", OUTPUT.is_valid(content))
lines = client.call("source", function="serve")["result"]["structuredContent"]["records"][0]["lines"]
check("source has the text of lines", any("work(n)" in line.get("words", "") for line in lines), lines)
crash = client.call("crash")["result"]["structuredContent"]["records"]
check("crash knows the signal", "SIGSEGV" in crash[0]["text"], crash)
status, left, said = client.end()
check("the end of requests ends the server", (status, left, said) == (0, b"", ""), status, left, said)

# ---- bounds ----------------------------------------------------------------------------------------------------------

client = Client("events.ptl")
wanted, _ = records("events", "--json", "events.ptl")
content = client.call("events")["result"]["structuredContent"]
check("100 records, unless asked", content["records"] == wanted[:100] and content["left_out"] == len(wanted) - 100
      and content["next"] == 100 and not content["left_out_more"], content)
found, skip, sizes = [], 0, []
while skip is not None:
    client.send({"jsonrpc": "2.0", "id": "p", "method": "tools/call",
                 "params": {"name": "events", "arguments": {"limit": 10000, "skip": skip}}})
    line = client.process.stdout.readline()
    sizes.append(len(line))
    content = json.loads(line)["result"]["structuredContent"]
    found += content["records"]
    skip = content["next"]
check("pages are the whole", found == wanted, len(found), len(wanted))
check("no answer is larger than a bound", max(sizes) < 3 << 20 and len(sizes) > 3, sizes)
content = client.call("events", skip=10 ** 15)["result"]["structuredContent"]
check("behind the last record", content["records"] == [] and content["left_out"] == 0 and content["next"] is None, content)
client.end()
client = Client("--timeout", "1ns", "a.ptl")
result = client.call("calls")["result"]
check("out of time", result["isError"] and result["structuredContent"]["exit_status"] is None
      and result["structuredContent"]["messages"][-1] == "ptl-dump serve: stopped: out of time (--timeout)", result)
check("the server goes on", client.ask("ping")["result"] == {})
client.end()

# ---- during a call -----------------------------------------------------------------------------------------------------

client = Client("a.ptl")
CALL = {"jsonrpc": "2.0", "id": "slow", "method": "tools/call", "params": {"name": "calls"}}
client.send(CALL, {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "slow", "reason": "test"}},
            {"jsonrpc": "2.0", "id": "later", "method": "ping"})
check("a cancelled call has no answer", client.receive() == {"jsonrpc": "2.0", "id": "later", "result": {}})
client.send(CALL, {"jsonrpc": "2.0", "id": "early", "method": "ping"})
check("a ping does not wait", [client.receive()["id"] for _ in range(2)] == ["early", "slow"])
client.send(CALL, {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "other"}},
            {"jsonrpc": "2.0", "method": "notifications/cancelled"}, {**CALL, "id": "second"})
check("other cancellations change nothing", [client.receive()["id"] for _ in range(2)] == ["slow", "second"])
client.send(*[{**CALL, "id": number, "params": {"name": "info"}} for number in range(20)])
check("answers in order", [client.receive()["id"] for _ in range(20)] == list(range(20)))
client.send({**CALL, "id": "last", "params": {"name": "info"}})
client.process.stdin.close()
check("the last request is answered", client.receive()["id"] == "last" and client.process.wait() == 0)

# ---- hostile messages --------------------------------------------------------------------------------------------------

client = Client("a.ptl")
PARSE, INVALID, METHOD, PARAMS = -32700, -32600, -32601, -32602
PING = b'{"jsonrpc":"2.0","id":%s,"method":"ping"}\n'
for name, message, code, number in (
        ("no JSON", b"hello\n", PARSE, None),
        ("a cut message", b'{"jsonrpc":"2.0","id":1,\n', PARSE, None),
        ("two values", PING[:-1] % b"1" + PING % b"2", PARSE, None),
        ("invalid UTF-8", PING % b'"\xff\xfe"', PARSE, None),
        ("an overlong form", PING % b'"\xc0\x80"', PARSE, None),
        ("a zero byte", b'{"jsonrpc":"2.0",\x00"id":1,"method":"ping"}\n', PARSE, None),
        ("a control character", PING % b'"\x01"', PARSE, None),
        ("deep arrays", b"[" * 100000 + b"\n", PARSE, None),
        ("deep objects", b'{"a":' * 50000 + b"1" + b"}" * 50000 + b"\n", PARSE, None),
        ("many values", b"[" + b"1," * 200000 + b"1]\n", PARSE, None),
        ("a message of 5 MB", PING % (b'"' + b"x" * 5000000 + b'"'), INVALID, None),
        ("a number", b"17\n", INVALID, None),
        ("a batch", b"[" + PING[:-1] % b"1" + b"," + PING[:-1] % b"2" + b"]\n", INVALID, None),
        ("an empty batch", b"[]\n", INVALID, None),
        ("id null", PING % b"null", INVALID, None),
        ("id true", PING % b"true", INVALID, None),
        ("id 1.5", PING % b"1.5", INVALID, None),
        ("id 1e3", PING % b"1e3", INVALID, None),
        ("an array as id", PING % b"[1]", INVALID, None),
        ("an object as id", PING % b'{"a":1}', INVALID, None),
        ("an id of 2000 bytes", PING % (b'"' + b"x" * 2000 + b'"'), INVALID, None),
        ("no jsonrpc", b'{"id":1,"method":"ping"}\n', INVALID, 1),
        ("jsonrpc 1.0", b'{"jsonrpc":"1.0","id":1,"method":"ping"}\n', INVALID, 1),
        ("jsonrpc 2.0 as a number", b'{"jsonrpc":2.0,"id":1,"method":"ping"}\n', INVALID, 1),
        ("no method", b'{"jsonrpc":"2.0","id":1}\n', INVALID, 1),
        ("a number as method", b'{"jsonrpc":"2.0","id":1,"method":5}\n', INVALID, 1),
        ("params by position", b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}\n', PARAMS, 1),
        ("an unknown method", b'{"jsonrpc":"2.0","id":1,"method":"tools/delete"}\n', METHOD, 1),
        ("a long method", b'{"jsonrpc":"2.0","id":1,"method":"' + b"m" * 100000 + b'"}\n', METHOD, 1),
        ("a method with a zero", b'{"jsonrpc":"2.0","id":1,"method":"ping\\u0000x"}\n', METHOD, 1),
        ("a resource", b'{"jsonrpc":"2.0","id":1,"method":"resources/list"}\n', METHOD, 1)):
    client.send(message)
    answer = client.receive()
    check(f"{name}: error {code}", answer.get("jsonrpc") == "2.0" and "id" in answer and answer["id"] == number
          and answer.get("error", {}).get("code") == code and 0 < len(answer["error"]["message"]) < 300, answer)
for written in ("0", "-1", "9007199254740993", "123456789012345678901234567890", '""', '"a b"', '"\\u00e9\\n\\"\\\\"', '"\\ud83d\\ude00"',
                '"é"', '"null"', "  7 "):
    client.send(PING % written.encode())
    answer = client.receive()
    check(f"id {written} comes back", answer == {"jsonrpc": "2.0", "id": json.loads(written), "result": {}}, answer)
for silent in (b"\n", b"\r\n", b'{"jsonrpc":"2.0","method":"unknown"}\n', b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"info"}}\n',
               b'{"jsonrpc":"2.0","method":"ping","params":[]}\n', b'{"jsonrpc":"2.0","id":1,"result":{}}\n',
               b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}\n'):
    client.send(silent)
    check(f"no answer to {silent!r}", client.ask("ping")["result"] == {})

# Arguments.
for name, params in (
        ("no params", None), ("no name", {}), ("a number as name", {"name": 1}), ("an unknown tool", {"name": "rm"}),
        ("a command that is no tool", {"name": "html"}), ("arguments that are a text", {"name": "info", "arguments": "x"}),
        ("arguments that are an array", {"name": "info", "arguments": [1]}),
        ("an unknown argument", {"name": "info", "arguments": {"output": "x"}}),
        ("an option as argument", {"name": "info", "arguments": {"--check": True}}),
        ("an argument of another tool", {"name": "info", "arguments": {"where": "1"}}),
        ("an empty name of an argument", {"name": "info", "arguments": {"": 1}}),
        ("a missing function", {"name": "why", "arguments": {}}), ("an empty function", {"name": "why", "arguments": {"function": ""}}),
        ("a number as function", {"name": "why", "arguments": {"function": 3}}),
        ("a zero in a text", {"name": "events", "arguments": {"where": "a\0b"}}),
        ("a text as number", {"name": "calls", "arguments": {"depth": "3"}}),
        ("a fraction", {"name": "calls", "arguments": {"depth": 1.5}}), ("a negative number", {"name": "events", "arguments": {"pid": -1}}),
        ("a number beyond 64 bits", {"name": "events", "arguments": {"pid": 10 ** 30}}),
        ("limit 0", {"name": "events", "arguments": {"limit": 0}}), ("limit 10001", {"name": "events", "arguments": {"limit": 10001}}),
        ("skip -1", {"name": "events", "arguments": {"skip": -1}}), ("a text as switch", {"name": "info", "arguments": {"check": "true"}}),
        ("null", {"name": "info", "arguments": {"check": None}}), ("no choice", {"name": "report", "arguments": {"by": "colour"}})):
    answer = client.ask("tools/call", params)
    check(f"{name}: error {PARAMS}", answer.get("error", {}).get("code") == PARAMS, answer)
for name, tool, arguments, text in (
        ("an expression with an error", "events", {"where": "(("}, "--where:1:"),
        ("an unknown process", "events", {"pid": 1}, "there is no process 1"),
        ("an unknown function", "why", {"function": "nothing"}, "is called 'nothing'"),
        ("a function like an option", "why", {"function": "--help"}, "is called '--help'"),
        ("a function like a file", "source", {"function": "-"}, "'-'"),
        ("a time that is none", "calls", {"time": "yesterday"}, "--time:")):
    result = client.call(tool, **arguments)["result"]
    check(f"{name}: a result that is an error", result["isError"] and result["structuredContent"]["exit_status"] == 2
          and any(text in message for message in result["structuredContent"]["messages"]), result)
check("many messages are bounded", len(json.dumps(client.call("events", where="a == 'b' and " * 3000 + "1 == 1"))) < 100000)
before = sorted(os.listdir(scratch))
client.call("events", where="1 == 1", event="--output=hack", provider="-o hack")
check("no file was written", sorted(os.listdir(scratch)) == before)
check("and the server is well", client.ask("ping")["result"] == {})
status, left, said = client.end()
check("no word on standard error", (status, left, said) == (0, b"", ""), status, left, said)

# ---- files of the machine ----------------------------------------------------------------------------------------------

write("secret", "s3cret")
LEAK = f'event.opcode >= 0 and u8("{path("secret")}", 0) == {ord("s")}'
check("the command reads files of expressions", records("events", "--json", "--where", LEAK, "a.ptl")[0])
client = Client("a.ptl")
for tool, arguments in (("events", {"where": LEAK}),
                        ("calls", {"where": LEAK.replace("event.opcode", "depth")}),
                        ("calls", {"calls": "serve: " + LEAK.replace("event.opcode", "number")})):
    content = client.call(tool, **arguments)["result"]["structuredContent"]
    check(f"{tool} {list(arguments)}: the server reads no files", not content["records"]
          and any("expressions read no files here" in message for message in content["messages"]), content)
client.end()
os.mkdir(path("elsewhere"))
for folder, shows in (("elsewhere", False), (".", True), ("/", True), ("missing", False)):
    client = Client("--source", folder, "a.ptl")
    text = json.dumps([client.call("source", function="serve"), client.call("crash")])
    check(f"--source {folder}: lines of source files {'shown' if shows else 'not shown'}", ("work(n)" in text) == shows
          and ("raise(SIGSEGV)" in text) == shows, text[:2000])
    client.end()

# ---- outputs that are kept ---------------------------------------------------------------------------------------------

client = Client("--source", ".", "a.ptl")
first = client.call("calls", function="serve")["result"]
wrong = [client.call("calls", where="nothing == 1")["result"] for _ in range(2)]
check("a mistake is the same mistake again", wrong[0] == wrong[1] and wrong[0]["isError"], *wrong)
for number in range(40):
    client.call("events", limit=1, time=f"{number}us..")
check("more commands than are kept", client.call("calls", function="serve")["result"] == first)
before = json.dumps([client.call("source", function="serve"), client.call("crash")])
text = read("serve.c").decode()
write("serve.c", text.replace("work(n)", "work( n )").replace("raise(SIGSEGV)", "raise( SIGSEGV )"))
after = json.dumps([client.call("source", function="serve"), client.call("crash")])
check("lines of source files are read again", "work(n)" in before and "work( n )" in after and "raise(SIGSEGV)" in before and
      "raise( SIGSEGV )" in after, before[:1000], after[:1000])
write("serve.c", text)
client.end()

# ---- clients that leave, and mistakes ------------------------------------------------------------------------------------

client = Client("a.ptl")
client.process.stdout.close()
client.send(CALL)
check("a client that does not read ends the server", client.process.wait(timeout=60) == 0)
got = run(DUMP, "serve", "a.ptl", input=PING.decode() % 1 + '{"jsonrpc":"2.0","id":2,"method":"ping"}')
check("a last line without an end", [json.loads(line)["id"] for line in got.stdout.splitlines()] == [1, 2], got)
data = bytearray(read("a.ptl"))
for at in range(len(data) // 3, len(data) // 3 + 3000):
    data[at] ^= 0x55
write("damaged.ptl", bytes(data))
wanted, got = records("report", "--json", "damaged.ptl")
client = Client("damaged.ptl")
result = client.call("report", limit=10000)["result"]["structuredContent"]
check("a damaged trace", (result["records"], result["exit_status"], result["messages"]) == (wanted, got.returncode, got.stderr.splitlines()),
      result, got)
client.end()
for name, arguments, status, text in (("no trace", ("missing.ptl",), 4, "missing.ptl: No such file"), ("no FILE", (), 2, "FILE is missing"),
                                      ("--json", ("--json", "a.ptl"), 2, "each answer is JSON"),
                                      ("a timeout of 0", ("--timeout", "0", "a.ptl"), 2, "--timeout")):
    got = run(DUMP, "serve", *arguments)
    check(f"{name}: status and text", got.returncode == status and text in got.stderr and not got.stdout, got)
with open(path("a.ptl"), "rb") as file:
    got = run(DUMP, "serve", "-", stdin=file)
check("a trace on standard input", got.returncode == 2 and "requests come from standard input" in got.stderr, got)
plan()
