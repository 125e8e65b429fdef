#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Names of functions of C++, Rust and Go as people say them: all commands find them, and text shows short names that fit a terminal.
import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios

from scratch_test import DUMP, RECORD, check, path, plan, run, scratch, skip, write

CALLS = 5
CXX = r"""
#include <cstdio>
#include <map>
#include <string>
#include <vector>
#define KEPT __attribute__((noinline, noclone))
namespace shop {
struct Order { std::string name; int amount; };
template <class T> struct Pool {
    std::vector<T> list;
    KEPT int run(int (*call)(const T &, const std::map<std::string, int> &), const std::map<std::string, int> &table)
    {
        int sum = 0;
        for (auto &one : list)
            sum += call(one, table);
        return sum;
    }
};
KEPT int rebate(const Order &order, const std::map<std::string, int> &table) { return order.amount - table.at(order.name); }
KEPT std::string label(const Order &order) { return order.name + " order of the shop"; }
struct Less { KEPT bool operator()(const Order &a, const Order &b) const { return a.amount < b.amount; } };
}
namespace store { KEPT int rebate(int amount) { return amount * 2; } }
namespace { KEPT int hidden(int x) { return x * 3; } }
int main(int argc, char **)
{
    std::map<std::string, int> table{{"a", 1}};
    shop::Pool<shop::Order> pool;
    for (int i = 0; i < 5; i++)
        pool.list.push_back({"a", i});
    int sum = pool.run(shop::rebate, table) + store::rebate(argc) + hidden(argc) + (int)shop::label(pool.list[0]).size();
    std::printf("%d\n", sum + shop::Less()(pool.list[0], pool.list[1]));
}
"""
RUST = r"""
mod shop {
    pub struct Pool<T> { pub list: Vec<T> }
    impl<T: Clone> Pool<T> {
        #[inline(never)] pub fn run(&self, call: &dyn Fn(T) -> i32) -> i32 { self.list.iter().map(|x| call(x.clone())).sum() }
    }
    pub trait Price { fn price(&self) -> i32; }
    impl Price for Pool<i32> { #[inline(never)] fn price(&self) -> i32 { self.list.len() as i32 + std::env::args().count() as i32 } }
    #[inline(never)] pub fn rebate(n: i32) -> i32 { n - std::env::args().count() as i32 }
}
use shop::Price;
fn main() { let p = shop::Pool { list: vec![1, 2, 3, 4, 5] }; println!("{}", p.run(&|x: i32| shop::rebate(x)) + p.price()); }
"""
GO = r"""
package main
import "fmt"
type Pool struct { list []int }
//go:noinline
func (p *Pool) Run(f func(int) int) int { s := 0; for _, x := range p.list { s += f(x) }; return s }
//go:noinline
func rebate(n int) int { return n - 1 }
func main() { p := &Pool{[]int{1, 2, 3, 4, 5}}; fmt.Println(p.Run(func(x int) int { return rebate(x) })) }
"""


def make(name, source, *command, **environment):
    """Compiles and records the program. Returns its trace."""
    write(source[0], source[1].encode())
    built = run(*command, env={**os.environ, **environment})
    done = run(RECORD, "-q", "--source", "software", "-o", name + ".ptl", "--", path(name)) if built.returncode == 0 else built
    if not check(f"{name} is built and recorded", done.returncode == 0, done):
        plan()
        sys.exit(1)
    return name + ".ptl"


def dump(*arguments):
    return run(DUMP, *arguments)


def counted(trace, name):
    """The number of calls, from latency."""
    done = dump("latency", "--json", name, trace)
    return sum(function["calls"] for function in json.loads(done.stdout)["functions"]) if done.returncode == 0 else done.stderr


def calls_of(trace, name):
    """The calls that are shown for --function, by their whole names."""
    done = dump("calls", "--json", "--no-fold", "-F", name, trace)
    return [call["function"] for call in map(json.loads, done.stdout.splitlines()) if call["depth"] == 0]


def found(trace, wanted, *names):
    for name in names:
        got = calls_of(trace, name)
        check(f"{trace}: {name}", len(got) == CALLS and all(re.search(wanted, one) for one in got), got)


# ---- C++ ------------------------------------------------------------------------------------------

cxx = make("cxx", ("cxx.cc", CXX), *(os.environ.get("CXX") or "g++").split(), "-O1", "-g", "-o", "cxx", "cxx.cc")
found(cxx, r"^shop::rebate\(", "shop::rebate", "rebate(shop::Order const&, *", "::shop::rebate", "shop::reb*")
for name, times, wanted in (("run", 1, r"^shop::Pool<shop::Order>::run\("), ("Pool::run", 1, "Pool"), ("Pool<shop::Order>::run", 1, "Pool"),
                            ("hidden", 1, r"^\(anonymous namespace\)::hidden\(int\)$"), ("label", 1, "^shop::label"),
                            ("Less::operator()", 1, "^shop::Less::operator"), ("rebate", CALLS + 1, "rebate"), ("::rebate", 0, ""),
                            ("Pool<int>::run", 0, "")):
    got = calls_of(cxx, name)
    check(f"C++: {name}", len(got) == times and all(re.search(wanted, one) for one in got), got)

done = dump("calls", "-F", "rebate", cxx)
check("a name of several functions is noted", "--function: 'rebate' stands for shop::rebate and store::rebate" in done.stderr, done)
for name, near in (("rebat", "'shop::rebate' or 'store::rebate'"), ("Pol::run", "'shop::Pool::run'"), ("hiden", "'hidden'"),
                   ("market::hidden", "'hidden'")):
    for command in (("calls", "-F", name), ("latency", name), ("graph", name), ("annotate", name), ("why", name), ("report", "--calls", name),
                    ("coverage", "--uncovered=" + name), ("calls", "--until", name)):
        done = dump(*command, cxx)
        if command[0] == "why" or name != "rebat":
            passed = f"did you mean {near}?" in done.stderr
        else:
            passed = "did you mean 'shop::rebate'" in done.stderr
        check(f"{' '.join(command)} is refused with {near}", done.returncode == 2 and not done.stdout and passed, done)

for command in (("latency", "Pool::run"), ("graph", "Pool::run"), ("annotate", "Pool::run"), ("report", "--calls", "Pool::run"),
                ("calls", "--where", "function == Pool::run"), ("flow", "--where", "function ~ Pool::r*"), ("calls", "--from", "Pool::run"),
                ("coverage", "--uncovered=Pool::run")):
    done = dump(*command, cxx)
    check(f"{' '.join(command)} shows the short name", done.returncode == 0 and re.search(r"\bshop::Pool::run\b", done.stdout) and
          "Pool<shop" not in done.stdout, done)
done = dump("report", cxx)
check("report has no template arguments and std::string", "basic_string<" not in done.stdout and "std::string::" in done.stdout, done)
done = dump("report", "--full-names", cxx)
check("with --full-names it has the whole names", "shop::Pool<shop::Order>::run(int (*)(" in done.stdout, done)
names = [json.loads(line)["function"] for line in dump("report", "--json", cxx).stdout.splitlines()]
check("JSON has the whole names", any(name and name.startswith("shop::Pool<shop::Order>::run(int (*)(") for name in names), names[:20])
done = dump("diff", "--ignore", "rebate", "--json", cxx, cxx)
check("diff --ignore takes such a name", done.returncode == 0, done)

done = run(RECORD, "-q", "--source", "software", "-o", "late.ptl", "--start-at", "Pool::run", "--", path("cxx"))
got = calls_of("late.ptl", "shop::rebate")
check("ptl-record --start-at takes such a name", done.returncode == 0 and len(got) == CALLS, done, got)
done = run(RECORD, "-q", "--source", "software", "-o", "none.ptl", "--start-at", "cxx:Pol::run", "--", path("cxx"))
check("and refuses an unknown name with a near one", done.returncode != 0 and "did you mean 'shop::Pool::run'?" in done.stderr, done)

# ---- Rust and Go ----------------------------------------------------------------------------------

if shutil.which("rustc") and run("rustc", "--version").returncode == 0:
    for version in "legacy", "v0":
        name = "rust_" + version
        more = ("-C", "symbol-mangling-version=v0") if version == "v0" else ()
        rust = make(name, (name + ".rs", RUST), "rustc", "-O", "-g", *more, "-o", name, name + ".rs")
        found(rust, "shop::rebate$", "rebate", "shop::rebate")
        for one in "Pool::run", "run", "Pool::price", "Price::price", "price":
            got = calls_of(rust, one)
            check(f"Rust, {version}: {one}", any("::" + one.rsplit(":", 1)[-1] in shown for shown in got), got)
else:
    skip("names of Rust", "there is no rustc")

if shutil.which("go"):
    go = make("gone", ("gone.go", GO), "go", "build", "-o", "gone", "gone.go", GO111MODULE="off", GOCACHE=path("cache"))
    found(go, r"^main\.rebate$", "rebate", "main.rebate")
    for one in "Run", "Pool.Run", "(*Pool).Run", "main.(*Pool).Run", "main.Pool.Run":
        got = calls_of(go, one)
        check(f"Go: {one}", got == ["main.(*Pool).Run"], got)
else:
    skip("names of Go", "there is no go")

# ---- terminals ------------------------------------------------------------------------------------


def on_terminal(columns, *arguments):
    """The lines that the command shows on a terminal of this width, and its messages."""
    main, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen([DUMP, *arguments], cwd=scratch, stdin=subprocess.DEVNULL, stdout=terminal, stderr=subprocess.PIPE,
                          env={**os.environ, "TERM": "xterm"}) as command:
        os.close(terminal)
        pieces = []
        try:
            while piece := os.read(main, 65536):
                pieces.append(piece)
        except OSError:
            pass  # the end of a terminal
        os.close(main)
        said = command.stderr.read().decode()
    return re.sub(r"\033\[[0-9;]*m", "", b"".join(pieces).decode()).replace("\r\n", "\n").splitlines(), said


for columns in 80, 100, 132:
    for command in (("report",), ("calls",), ("flow",), ("graph", "Pool::run"), ("latency", "shop::rebate"), ("annotate", "Pool::run"), ("stats",),
                    ("images",), ("report", "--by", "inline"), ("processes",)):
        lines, said = on_terminal(columns, *command, cxx)
        check(f"{' '.join(command)} fits {columns} columns", lines and max(map(len, lines)) <= columns,
              [line for line in lines if len(line) > columns][:3])
        if command == ("report",):
            check(f"report shows names in {columns} columns", sum("shop::" in line or "std::" in line for line in lines) > 3, lines[:20])
lines, said = on_terminal(80, "report", cxx)
check("what a narrow terminal leaves out is said", "80 columns, too few for: %, SELF TIME" in said, said)
lines, said = on_terminal(80, "report", "--full-names", cxx)
check("--full-names cuts nothing", any("shop::Pool<shop::Order>::run(int (*)(" in line for line in lines) and not said, said)
lines, said = on_terminal(80, "calls", cxx)
check("a cut line ends with >", any(len(line) == 80 and line.endswith(">") for line in lines), max(lines, key=len))
piped = dump("report", cxx)
check("nothing is cut in a pipe", "SELF TIME" in piped.stdout and not piped.stderr, piped)

plan()
