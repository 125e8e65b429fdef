# SPDX-License-Identifier: BSD-2-Clause
# Real programs to trace, each with something to do that takes a moment.
"""prepare() makes what they read; COMMANDS are then run in the scratch folder."""
import os
import shutil

from scratch_test import path, run, write

COMMANDS = {
    "ls": ["ls", "-la", "/"],
    "gzip": ["gzip", "-9", "-k", "-c", "numbers.txt"],
    "xz": ["xz", "-k", "-c", "numbers.txt"],
    "xz with threads": ["xz", "-0", "-T2", "--block-size=4096", "-k", "-c", "numbers.txt"],
    "zstd": ["zstd", "-q", "-c", "numbers.txt"],
    "python3": ["/usr/bin/python3", "-I", "-S", "-c", "import json; print(json.dumps({'path': '/home/annabelle/x'}))"],
    "perl": ["perl", "-ne", "print if /project-3/", "numbers.txt"],
    "gcc": ["gcc", "-O1", "-S", "-o", "-", "hello.c"],
    "luajit": ["luajit", "loop.lua"],
    "awk": ["awk", "{ n += $2 } END { print n }", "numbers.txt"],
    "sed": ["sed", "s/annabelle/robert/g", "numbers.txt"],
    "grep": ["grep", "-c", "project-[35]", "numbers.txt"],
    "tar": ["tar", "czf", "-", "many"],
    "sort": ["sort", "-k2", "numbers.txt"],
    "find": ["find", "many", "-name", "*.txt"],
    "sh": ["sh", "-c", "for i in 1 2 3; do echo /home/annabelle/$i; done | wc -l"],
    "bash": ["bash", "-c", "for i in 1 2 3; do echo /home/annabelle/$i; done | (read -r a; ls many >/dev/null; echo $a)"],
    "jq": ["jq", "-c", "map(.n * 2) | add", "numbers.json"],
    "git": ["git", "-c", "safe.directory=*", "--git-dir=repository", "log", "--stat", "-n", "5"],
    "sqlite3": ["sqlite3", ":memory:", "with recursive n(i) as (select 1 union all select i + 1 from n where i < 300) "
                "select sum(i), '/home/annabelle' from n"],
    "openssl": ["openssl", "dgst", "-sha256", "numbers.txt"],
    "go": ["./sums"],
    "C++": ["./boxes"],
}
# The others belong to Debian's base, or to the packages that tests need.
OPTIONAL = {"git": "git", "sqlite3": "sqlite3", "openssl": "openssl", "go": "go"}

GO = """package main
import ("fmt"; "sort")
func Sum(x []int) int { s := 0; for _, v := range x { s += v * v }; return s }
func main() {
    c := make(chan int)
    for i := 0; i < 3; i++ {
        go func(n int) { x := []int{}; for j := 0; j < 50; j++ { x = append(x, (j*37+n)%23) }; sort.Ints(x); c <- Sum(x) }(i)
    }
    fmt.Println(<-c + <-c + <-c)
}
"""
CXX = """#include <iostream>
#include <map>
#include <string>
namespace Anna {
template <class T> struct Box {
    std::map<std::string, T> kept;
    __attribute__((noinline)) void put(const std::string &key, T value) { kept[key] = value; if (value == 77) throw value; }
};
}
int main()
{
    Anna::Box<int> box;
    try { for (int i = 0; i < 99; i++) box.put(std::to_string(i), i); }
    catch (int value) { std::cout << value << std::endl; }
}
"""


def make_repository():
    environment = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
    for name in ("AUTHOR", "COMMITTER"):
        environment.update({f"GIT_{name}_NAME": "Anna", f"GIT_{name}_EMAIL": "annabelle@example.org"})
    for command in (["init", "-q"], ["add", "numbers.txt", "hello.c"], ["commit", "-q", "-m", "All of it"]):
        run("git", "--git-dir=repository", "--work-tree=.", *command, env=environment)


def prepare(names):
    """Makes what these programs need. Returns those that are there, and why the optional ones are not."""
    write("numbers.txt", "".join(f"{n} {n * n} /home/annabelle/project-{n % 7}/file.c\n" for n in range(400)))
    write("numbers.json", "[%s]" % ",".join('{"n":%d}' % n for n in range(60)))
    write("hello.c", "#include <stdio.h>\nint main(void) { return puts(\"/home/annabelle/hello\") < 0; }\n")
    write("loop.lua", "local s = 0 for i = 1, 3000 do s = s + i % 7 end print(s)\n")
    os.makedirs(path("many/folders"))
    for name in ("a.txt", "folders/b.txt"):
        write(f"many/{name}", "text\n" * 100)
    missing = {name: f"{OPTIONAL[name]} is not installed" for name in names if name in OPTIONAL and not shutil.which(OPTIONAL[name])}
    if "git" in names and "git" not in missing:
        make_repository()
    if "go" in names and "go" not in missing:
        write("sums.go", GO)
        run("go", "build", "-o", "sums", "sums.go", env={**os.environ, "HOME": path(""), "GOCACHE": path("go"), "GO111MODULE": "off"})
    if "C++" in names:
        # As Debian builds: stripped, and what debuggers want in a file of its own.
        write("boxes.cpp", CXX)
        run(*os.environ.get("CXX", "g++").split(), "-g", "-O1", "-Wl,--build-id", "-o", "boxes", "boxes.cpp")
        run("objcopy", "--only-keep-debug", "boxes", "boxes.debug")
        run("strip", "boxes")
    return missing
