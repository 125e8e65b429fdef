#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# What is installed: each public header alone, every function called, the examples, what manual pages refer to.
import glob
import gzip
import os
import re

from scratch_test import check, path, plan, run, write

ROOT = os.path.dirname(os.environ["PTL_TESTS"])
BUILD = os.path.dirname(os.environ["PTL_BIN"])
COMPILER = os.environ.get("CC") or "gcc"
C = [*COMPILER.split(), "-Wall", "-Wextra", "-Wshadow", "-Wstrict-prototypes", "-pedantic", "-Werror"]
CXX = ["g++", "-Wall", "-Wextra", "-pedantic", "-Werror"]
INCLUDE = path("usr/include")
LIB = path("usr/lib")


def compiles(name, compiler, standard, text, *more):
    write(name, text)
    return run(*compiler, "-std=" + standard, "-I" + INCLUDE, name, *(more or ("-c", "-o", "/dev/null")))


def exported(library):
    """The names of a shared library that are functions, but for those that PTL's libraries have for each other."""
    symbols = run("nm", "-D", "--defined-only", os.path.join(LIB, library)).stdout
    return sorted(name.split("@")[0] for _, kind, name in (line.split() for line in symbols.splitlines())
                  if kind == "T" and not name.endswith("@PTL_PRIVATE"))


# Every argument is zero, and of a pointer it is asked what it points to: a structure that no header has is a handle, which
# some function gives or takes to open it.
CALLER = """
#include <cstdio>
#include <cstring>
#include <set>
#include <string>
#include <typeinfo>
#include <type_traits>
%(includes)s
template <class T, class = void> struct known : std::false_type {};
template <class T> struct known<T, decltype(void(sizeof(T)))> : std::true_type {};
static std::set<std::string> opaque, given;
template <class T> const char *name_of() { const char *name = typeid(T *).name(); return name; }
template <class T> struct look { static void at() {} };
template <class T> struct look<T *> {
	static void at()
	{
		using object = std::remove_cv_t<T>;
		if constexpr (std::is_pointer_v<object>)
			given.insert(name_of<std::remove_cv_t<std::remove_pointer_t<object>>>());
		else if constexpr (!std::is_function_v<T> && !std::is_void_v<object> && !known<object>::value)
			opaque.insert(name_of<object>());
	}
};
template <class R, class... A> void call(R (*function)(A...), bool really)
{
	look<R>::at();
	if constexpr (std::is_pointer_v<R>)
		given.insert(name_of<std::remove_cv_t<std::remove_pointer_t<R>>>());
	(look<A>::at(), ...);
	if (really)
		(void)function(A()...);
}
template <class R, class... A> void call(R (*)(A..., ...), bool) {}
template <class S, class R, class... A> void called_back(R (*S::*)(A...))
{
	(given.insert(name_of<std::remove_cv_t<std::remove_pointer_t<A>>>()), ...);
}
int main(int argc, char **)
{
	const bool really = argc > 1000;
%(calls)s
	for (const std::string &name : opaque)
		std::printf("%%s%%s\\n", name.c_str(), given.count(name) ? "" : " is given by nothing");
	return 0;
}
"""


def call_everything(library, headers, functions, callbacks=()):
    """callbacks: members of structures, whose functions are given handles too."""
    includes = "".join(f"#include <ptl/{header}>\n" for header in headers)
    calls = "".join(f"\tcall({function}, really);\n" for function in functions)
    calls += "".join(f"\tcalled_back(&{member});\n" for member in callbacks)
    program = path("caller-" + library)
    got = compiles(f"caller-{library}.cpp", CXX, "c++17", CALLER % {"includes": includes, "calls": calls}, "-o", program,
                   "-L" + LIB, "-Wl,-rpath,$ORIGIN/usr/lib", "-l" + library)
    check(f"a C++ program calls all {len(functions)} functions of lib{library}", got.returncode == 0 and
          len(functions) > 5, got.stderr)
    shown = run(program)
    check("what has to be made by the caller is declared in full", shown.returncode == 0 and
          "given by nothing" not in shown.stdout, shown.stdout, shown.stderr)
    # The same in C, which has no other name for a function than its own.
    uses = "".join(f"\t(void (*)(void)){function},\n" for function in functions)
    got = compiles(f"caller-{library}.c", C, "c11", includes + f"void (*const functions[])(void) = {{\n{uses}}};\n"
                   "int main(void)\n{\n\treturn functions[0] == 0;\n}\n", "-o", program + "-c", "-L" + LIB,
                   "-Wl,-rpath,$ORIGIN/usr/lib", "-l" + library)
    check("and so does one in C", got.returncode == 0 and run(program + "-c").returncode == 0, got.stderr)


def example():
    """The example at the head of ptl/provider_macros.h: definitions, then what a program does."""
    with open(os.path.join(INCLUDE, "ptl", "provider_macros.h"), encoding="utf-8") as file:
        comment = file.read().split("*/")[1]
    lines = [line[len(" *     "):] for line in comment.splitlines() if line.startswith(" *     ")]
    start = next((number for number, line in enumerate(lines) if "ptl_provider_register" in line), 0)
    return ("#include <ptl/provider.h>\n" + "\n".join(lines[:start]) + "\nint main(void)\n{\n" + "\n".join(lines[start:]) +
            "\n\treturn 0;\n}\n")


def make(target):
    """In the folder of the sources: make takes no path with blanks for O."""
    return run("make", "-s", "O=" + os.path.relpath(BUILD, ROOT), "DESTDIR=", "PREFIX=" + path("usr"), "CC=" + COMPILER, target,
               cwd=ROOT, env={name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))})


got = make("install")
check("an installed copy can be made", got.returncode == 0, got.stdout, got.stderr)
headers = sorted(os.path.basename(name) for name in glob.glob(os.path.join(glob.escape(INCLUDE), "ptl", "*.h")))
check("it has the headers of all libraries", {"event.h", "flow.h", "provider.h", "provider_macros.h", "bytes.h"} <= set(headers), headers)
for header in headers:
    for standard, compiler, suffix in (("c11", C, "c"), ("gnu17", C, "c"), ("c++17", CXX, "cpp")):
        got = compiles(f"alone.{suffix}", compiler, standard, f"#include <ptl/{header}>\n#include <ptl/{header}>\n"
                       "int main(void);\nint main(void)\n{\n\treturn 0;\n}\n")
        check(f"ptl/{header} compiles alone ({standard})", got.returncode == 0, got.stderr)
provider_headers = [header for header in headers if header.startswith("provider")]
flow_headers, analysis_headers = ["flow.h", "decoder.h"], ["analysis.h", "calls.h", "profile.h"]
call_everything("ptl", [header for header in headers if header not in [*provider_headers, *flow_headers, *analysis_headers]], exported("libptl.so"))
call_everything("ptl-provider", provider_headers, exported("libptl-provider.so"))
call_everything("ptl-flow", flow_headers, exported("libptl-flow.so"), ["ptl_flow_view::consume"])
for standard, compiler, suffix in (("c11", C, "c"), ("c++17", CXX, "cpp")):
    text = example()
    text = text.replace("int main(void)\n", "int main(void);\nint main(void)\n") if suffix == "c" else text
    got = compiles(f"example.{suffix}", compiler, standard, text, "-o", path("example"), "-L" + LIB, "-lptl-provider",
                   "-Wl,-rpath,$ORIGIN/usr/lib")
    check(f"the example in ptl/provider_macros.h compiles ({standard})", "PTL_EVENT(" in text and got.returncode == 0,
          got.stderr, text)

# ---- manual pages --------------------------------------------------------------------------------------------------------

pages = {}
for name in glob.glob(os.path.join(glob.escape(path("usr")), "share", "man", "man*", "*.gz")):
    with gzip.open(name, "rt", encoding="utf-8") as file:
        pages[os.path.basename(name)[:-len(".gz")]] = file.read()
check("every manual page is there", len(pages) == len(glob.glob(os.path.join(glob.escape(ROOT), "man", "*.[1-8]"))) > 5,
      sorted(pages))
named = {(page, f"{name}.{section}") for page, text in pages.items()
         for name, section in re.findall(r"^\.Xr ((?:lib)?ptl\S*) (\d)", text, re.M)}
check("pages of PTL that a page names are installed", len(named) > 10 and {name for _, name in named} <= set(pages), named)
files = {(page, name) for page, text in pages.items() for name in re.findall(r"^\.Pa (.*/doc\S*)", text, re.M)}
check("so are documents", len(files) >= 3 and all(os.path.isfile(name) or os.listdir(name) for _, name in files), files)
sources = {(page, line) for page, text in pages.items() for line in text.splitlines()
           if re.search(r"(?<![\w/])(docs|testdata|tests|man)/|in the sources\b", line)}
check("no page sends its reader to the sources", not sources, sources)

# ---- documents -----------------------------------------------------------------------------------------------------------

top = path("usr/share/doc/ptl")
broken = []
for name in glob.glob(os.path.join(glob.escape(top), "**", "*.md"), recursive=True):
    with open(name, encoding="utf-8") as file:
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", file.read()):
            if not os.path.exists(os.path.join(os.path.dirname(name), target)):
                broken.append((os.path.relpath(name, top), target))
check("links of documents lead to what is installed", os.path.isfile(os.path.join(top, "README.md")) and not broken, broken)

# ---- the Python module ---------------------------------------------------------------------------------------------------

folders = glob.glob(path("usr/lib/python3*/dist-packages"))
check("the Python module is installed", len(folders) == 1 and os.path.isfile(os.path.join(folders[0], "ptl", "__init__.py")), folders)
got = run("/usr/bin/python3", "-c", "import ptl; print(ptl.__file__, ptl.Trace.__doc__ is not None)", cwd=path(""),
          env={"PATH": "/usr/bin:/bin", "PYTHONPATH": folders[0]})
check("and finds the installed libraries", got.returncode == 0 and got.stdout == f"{folders[0]}/ptl/__init__.py True\n",
      got.stdout, got.stderr)
site = run("/usr/bin/python3", "-c", "import site; print('\\n'.join(site.getsitepackages()))").stdout.split()
where = run("make", "-s", "-n", "install-python", "PREFIX=/usr/local", "DESTDIR=/nowhere", cwd=ROOT).stdout
check("for /usr/local the folder is one that Python searches", any(f"install -d '/nowhere{name}/ptl'" in where for name in site),
      site, where[-500:])

# ---- and gone ------------------------------------------------------------------------------------------------------------

got = make("uninstall")
left = [os.path.join(folder, name) for folder, _, names in os.walk(path("usr")) for name in names]
check("uninstalling leaves no file", got.returncode == 0 and not left, got.stderr, left)

plan()
