# SPDX-License-Identifier: BSD-2-Clause
# Builds, tests and installs PTL. `make help` lists the targets.
#
# Sources are found by folder, so a new .c file needs no change here:
#
#   common/                         lib/common.a
#   format/                         lib/libptl.a and lib/libptl.so (with common)
#   provider/*.c                    lib/libptl-provider.a and .so (with what provider_needs names)
#   flow/                           lib/libptl-flow.a and lib/libptl-flow.so, which uses libptl.so
#   elf/ query/ perf/ import/       lib/elf.a, lib/query.a, lib/perf.a, lib/import.a, with their folders
#   analysis/                       lib/libptl-analysis.a and lib/libptl-analysis.so, which uses libptl.so
#   record/ but software/runtime/   lib/record.a     record/main.c  bin/ptl-record
#   record/software/runtime/        what runs in traced programs: an image within lib/record.a
#   relog/                          lib/relog.a      relog/main.c   bin/ptl-relog
#   dump/                           lib/dump.a       dump/main.c    bin/ptl-dump
#   tests/unit/PART/test_*.c        tests/unit/PART/, one cmocka program each, linked with PART and what is below it
#   tests/fuzz/fuzz_NAME.c          tests/fuzz/, replays tests/fuzz/corpus/NAME/
#   tests/tools/*.c bench/*.c       tests/, bench/: helper programs
#   testdata/programs/*.{c,cpp}     programs/, to be traced; lib*.c makes a shared object;
#                                   testdata/programs/flags.mk may set flags_NAME and libs_NAME
#
# No command runs while this file is read, so that `make deps` works where not even a compiler is.

.DEFAULT_GOAL := all
.SUFFIXES:
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

# ---- what the caller may set -------------------------------------------------------------------------

O       ?= build
PREFIX  ?= /usr/local
CFLAGS  ?= -O2 -g
ifeq ($(origin CC),default)
CC      := gcc
endif
ifeq ($(origin CXX),default)
CXX     := g++
endif
FUZZ_SECONDS ?= 60
# Debian's python3: the tests need its zstandard and xxhash modules.
PYTHON  ?= /usr/bin/python3
# Real hardware traces, if there are any: see docs/building.md.
TRACES  ?= $(abspath ../shared/traces)
# Real .etl files of Windows, likewise.
ETL     ?= $(abspath ../shared/etl)

ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @printf '  %-8s %s\n'
endif

# ---- packages ----------------------------------------------------------------------------------------
# docs/dependencies.md gives the reason for each.

BUILD_PACKAGES := gcc libc6-dev libzstd-dev libxxhash-dev nettle-dev libelf-dev libdw-dev \
	libzydis-dev libipt-dev libiberty-dev libncurses-dev zlib1g-dev liblzma-dev
TEST_PACKAGES  := g++ binutils libcmocka-dev perl python3 python3-zstandard python3-xxhash python3-cffi python3-numpy luajit nasm jq \
	gzip bzip2 xz-utils zstd procps linux-perf|linux-tools-generic lcov tmux libsqlite3-dev babeltrace2 tshark dwz curl parallel gdb libc6-dbg libdebuginfod1
# No unit test is built without these, nor does any run.
UNIT_PACKAGES  := libcmocka-dev perl python3
CI_PACKAGES     = git clang clang-format shellcheck mandoc groff-base zsh locales $(BROWSER_PACKAGES) golang-go python3-jsonschema \
	musl-tools bubblewrap afl++
# Large: only for what a page looks like in a browser.
BROWSER_PACKAGES := chromium fonts-dejavu-core
# What makes a root of a Debian release.
RELEASE_PACKAGES := debootstrap
# Large as well: servers that take the rows of ptl-dump table.
DATABASE_PACKAGES := postgresql clickhouse-server
# And a cluster of one machine, for ptl-dump --slurm.
SLURM_PACKAGES := slurmctld slurmd slurm-client munge
# And programs that read exports.
EXPORT_PACKAGES := golang-go valgrind llvm chromium
PACKAGES       := $(BUILD_PACKAGES) $(TEST_PACKAGES)

.PHONY: deps ci-deps release-deps browser-deps database-deps slurm-deps export-deps
browser-deps: PACKAGES += $(BROWSER_PACKAGES)
browser-deps: deps
release-deps: PACKAGES += $(RELEASE_PACKAGES)
release-deps: deps
database-deps: PACKAGES += $(DATABASE_PACKAGES)
database-deps: deps
slurm-deps: PACKAGES += $(SLURM_PACKAGES)
slurm-deps: deps
export-deps: PACKAGES += $(EXPORT_PACKAGES)
export-deps: deps
ci-deps: PACKAGES += $(CI_PACKAGES)
ci-deps: deps
deps:
	@packaging/deps $(foreach p,$(PACKAGES),'$(p)')

# A plain build installs nothing: it only says what is missing. Elsewhere than on Debian it says nothing.
.PHONY: packages-present test-packages-present
packages-present: needed_packages = $(BUILD_PACKAGES)
test-packages-present: needed_packages = $(UNIT_PACKAGES)
packages-present test-packages-present:
	@if [ -n "$(NO_PACKAGE_CHECK)" ] || ! command -v dpkg-query >/dev/null; then exit 0; fi; \
	missing=$$(packaging/deps --missing $(needed_packages)); \
	if [ -z "$$missing" ]; then exit 0; fi; \
	echo "missing packages: $$missing" >&2; \
	echo "  try: make deps             (installs them with apt-get)" >&2; \
	echo "  or:  make NO_PACKAGE_CHECK=1  (the libraries come from elsewhere)" >&2; exit 1

# ---- flags -------------------------------------------------------------------------------------------

warnings := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition \
	-Wpointer-arith -Wwrite-strings -Wundef -Wvla -Wformat=2 -Wimplicit-fallthrough \
	-Wno-missing-field-initializers
includes := -I. -Iformat/include -Iprovider/include -Iflow/include -Ianalysis/include
# Objects serve programs and shared objects alike. Nobody interposes PTL's own functions, so calls within
# a file may be inlined. Nothing that is built says where it was built, so that two builds give equal bytes.
ptl_cflags := -std=gnu17 -D_GNU_SOURCE $(includes) $(warnings) \
	-fPIC -fno-semantic-interposition -fstack-protector-strong -pthread "-ffile-prefix-map=$$PWD=."
ptl_ldflags := -Wl,--as-needed -Wl,-z,relro,-z,now -pthread

ifneq ($(SAN),)
ptl_cflags  += -fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer
ptl_ldflags += -fsanitize=$(SAN)
# Fences, of which gcc says that ThreadSanitizer does not know them, order what other processes write, which it does not see either.
ifeq ($(SAN)$(findstring clang,$(CC)),thread)
ptl_cflags  += -Wno-tsan
endif
else
ptl_cflags  += $(if $(filter -O1 -O2 -O3 -Os,$(CFLAGS)),-D_FORTIFY_SOURCE=2)
endif

compile = $(CC) $(ptl_cflags) $(CFLAGS) $(CPPFLAGS) -MMD -MP
link    = $(CC) $(CFLAGS) $(ptl_ldflags) $(LDFLAGS)

common_libs := -lnettle
format_libs := -lzstd -lxxhash $(common_libs)
elf_libs    := -ldw -lelf -lz -llzma
record_libs := -lZydis -liberty $(elf_libs) $(format_libs)
relog_libs  := -lipt -lZydis -liberty $(elf_libs) $(format_libs)
# ptl-dump browse is left out where there is no ncurses; CURSES= leaves it out, CURSES=1 takes one that lies elsewhere.
CURSES      ?= $(if $(wildcard /usr/include/curses.h),1)
# The same of ptl-dump sqlite, which then only says so.
SQLITE      ?= $(if $(STATIC),,$(if $(wildcard /usr/include/sqlite3.h),1))
dump_libs   := -lipt -lZydis -liberty $(elf_libs) $(if $(CURSES),-lncursesw -ltinfo) $(if $(SQLITE),-lsqlite3) $(format_libs)
flow_libs   := -lipt -lZydis -lnettle
analysis_libs := $(flow_libs) -liberty $(elf_libs)

# ---- sources -----------------------------------------------------------------------------------------

mains       := record/main.c relog/main.c dump/main.c
# The sources of a folder and the folders in it, down to the fourth floor.
tree         = $(wildcard $(1)/*.c $(1)/*/*.c $(1)/*/*/*.c)
common_src  := $(call tree,common)
format_src  := $(call tree,format)
provider_src := $(call tree,provider)
# All that programs with providers need of the parts below: no library but libc.
provider_needs := common/bytes.c common/error.c common/plural.c common/text/guid_name.c common/signals.c common/text/utf8.c common/vector.c format/metadata/fields.c format/metadata/schema_record.c \
	format/metadata/map_record.c
elf_src     := $(call tree,elf)
query_src   := $(call tree,query)
flow_src    := $(call tree,flow)
perf_src    := $(call tree,perf)
import_src  := $(call tree,import)
analysis_src := $(call tree,analysis)
# Freestanding, and compiled in its own way; of the other parts it has what needs no libc.
runtime_src := $(call tree,record/software/runtime) record/software/shared/inject.c record/software/shared/tracee.c record/channel/shared/address_space.c common/vector.c
record_src  := $(filter-out $(mains) record/software/runtime/%,$(call tree,record))
# Tests have these, too, compiled as all else.
record_src  += $(wildcard record/software/runtime/instruction*.c record/software/runtime/translate*.c)
relog_src   := $(filter-out $(mains),$(call tree,relog))
dump_src    := $(filter-out $(mains) $(if $(CURSES),,dump/command/browse.c dump/browse/%),$(call tree,dump))
unit_src    := $(wildcard tests/unit/*/test_*.c)
fuzz_src    := $(wildcard tests/fuzz/fuzz_*.c)
tool_src    := $(wildcard tests/tools/*.c)
bench_src   := $(wildcard bench/*.c)
program_src := $(filter-out testdata/programs/lib%,$(wildcard testdata/programs/*.c testdata/programs/*.cpp))
shared_src  := $(wildcard testdata/programs/lib*.c)
# The longest first: a long test that begins last leaves the other CPUs idle.
long_tests  := software_transparent gdb_programs gdb record_attach relog_perf_pt relog_parts relog_perf_options record_failing
e2e_tests   := $(long_tests:%=tests/e2e/%.t)
e2e_tests   += $(filter-out $(e2e_tests),$(wildcard tests/e2e/*.t))
public_headers := $(wildcard format/include/ptl/*.h)
provider_headers := $(wildcard provider/include/ptl/*.h)
flow_headers := $(wildcard flow/include/ptl/*.h)
analysis_headers := $(wildcard analysis/include/ptl/*.h)

objects = $(patsubst %.c,$(O)/obj/%.o,$(1))

programs := $(patsubst testdata/programs/%,$(O)/programs/%,$(basename $(program_src))) \
	$(patsubst testdata/programs/%.c,$(O)/programs/%.so,$(shared_src))
# What tests, fuzzers and benchmarks share.
support_src := $(wildcard tests/unit/*.c)

unit     := $(patsubst tests/unit/%.c,$(O)/tests/unit/%,$(unit_src))
fuzz     := $(patsubst tests/fuzz/%.c,$(O)/tests/fuzz/%,$(fuzz_src))
helpers  := $(patsubst tests/tools/%.c,$(O)/tests/%,$(tool_src))
pmu      := $(O)/tests/pmu.so
failing  := $(O)/tests/failing.so
examples := $(patsubst testdata/examples/%.c,$(O)/examples/%,$(wildcard testdata/examples/*.c))
examples := $(examples:%/fork_server=%/fork_server.so)
benches  := $(patsubst bench/%.c,$(O)/bench/%,$(bench_src))

soname  := libptl.so.0
provider_soname := libptl-provider.so.0
flow_soname := libptl-flow.so.0
analysis_soname := libptl-analysis.so.0
common  := $(O)/lib/common.a
format  := $(O)/lib/libptl.a
elf     := $(O)/lib/elf.a
query   := $(O)/lib/query.a
flow    := $(O)/lib/libptl-flow.a
flow_shared := $(O)/lib/$(flow_soname)
perf    := $(O)/lib/perf.a
import  := $(O)/lib/import.a
analysis := $(O)/lib/libptl-analysis.a
analysis_shared := $(O)/lib/$(analysis_soname)
record  := $(O)/lib/record.a
relog   := $(O)/lib/relog.a
dump    := $(O)/lib/dump.a
support := $(O)/lib/tests.a
shared  := $(O)/lib/$(soname)
provider := $(O)/lib/libptl-provider.a
provider_shared := $(O)/lib/$(provider_soname)
tools   := $(patsubst %/main.c,$(O)/bin/ptl-%,$(wildcard $(mains)))

-include testdata/programs/flags.mk
include packaging/packaging.mk

# ---- targets -----------------------------------------------------------------------------------------

.PHONY: all lib tools programs helpers tests help
all: lib tools
lib: $(format) $(shared) $(provider) $(provider_shared) $(flow) $(flow_shared) $(analysis) $(analysis_shared)
tools: $(tools)
programs: $(programs)
helpers: $(helpers) $(benches) $(examples) $(pmu) $(failing)
tests: all python $(unit) $(helpers) $(programs) $(examples) $(pmu) $(failing)

help:
	@echo 'make                the three programs and libptl, in $$(O)/bin and $$(O)/lib'
	@echo 'make demo           installs what is missing, builds, records a program and shows what it executed'
	@echo 'make demo-plugin    the same for plugins of a private format: names code that no loader named'
	@echo 'make check          installs what is missing, builds, runs every test'
	@echo 'make unit           unit tests and fuzz replay only       T=TEXT picks those whose name has it'
	@echo 'make random         random programs against every engine  RANDOM_SECONDS=N for each test, PTL_RANDOM_FIRST=SEED'
	@echo 'make attack         damaged and hostile files against ptl-dump and ptl-relog, with sanitizers; failures and limits against ptl-record, two users   SECONDS=$(SECONDS)'
	@echo 'make e2e            end-to-end tests only                 T=TEXT picks those whose name has it'
	@echo 'make check-browser  installs Chromium, and tests the pages of ptl-dump html in it'
	@echo 'make check-slurm      installs Slurm, and tests ptl-dump --slurm with it'
	@echo 'make check-databases  installs PostgreSQL and ClickHouse, and tests ptl-dump table with them'
	@echo 'make check-releases  makes roots of Debian releases, builds and tests in each   RELEASES="$(RELEASES)" QUICK=1: no end-to-end tests'
	@echo 'make check-exports  installs Go, Valgrind, LLVM and Chromium, and has them read what ptl-dump exports of real programs'
	@echo 'make pictures       makes docs/pictures again, in Chromium, from a program that is recorded'
	@echo 'make cheap          tests of what depends on files, processes, clocks and locales'
	@echo 'make soak           truth tests of every program in every configuration (long)'
	@echo 'make check-programs  has the relogger rewrite traces of some twenty real programs: the same flow, the same names (minutes)'
	@echo 'make check-threads  builds with ThreadSanitizer, and runs tests that many threads are in (minutes)'
	@echo 'make check-memory   builds with ASan and UBSan, and runs tests of the three programs (many minutes)'
	@echo 'make check-hardware records programs with this machine'"'"'s Intel PT, and judges what is decoded; says why if there is none'
	@echo 'make fuzz           fuzzes every reader with libFuzzer (clang), FUZZ_SECONDS=$(FUZZ_SECONDS) each'
	@echo 'make bench          measures speed and size'
	@echo 'make lint           licence tags, layout and format of the code, scripts, manual pages'
	@echo 'make install        to $$(DESTDIR)$$(PREFIX), by default $(PREFIX); make uninstall removes it'
	@echo 'make compile_commands.json, make tags   for editors and language servers (ctags)'
	@echo 'make dist           the sources as $$(O)/dist/ptl-VERSION.tar.gz, of what is committed'
	@echo 'make static         a ptl-dump that needs no library, for other distributions, in $$(O)/static/bin'
	@echo 'make python         import ptl: the Python module, in $$(O)/python'
	@echo 'make deb            Debian packages, in $$(O)/deb; make check-deb installs, uses and removes them in a chroot (root)'
	@echo 'make abi            records what the shared libraries promise, after something was added to them'
	@echo 'make check-packaging  that both work, and that two builds in different folders give equal bytes (minutes)'
	@echo 'make deps           installs the Debian packages that building and testing need'
	@echo 'make clean          removes $$(O)'
	@echo
	@echo 'O=FOLDER            output folder (now $(O))'
	@echo 'V=1                 shows each command'
	@echo 'WERROR=1            warnings are errors'
	@echo 'SAN=LIST            builds with sanitizers: address,undefined or thread (use an O of its own)'
	@echo 'SQLITE=             without ptl-dump sqlite, which needs libsqlite3'
	@echo 'CURSES=             without ptl-dump browse, which needs ncurses'
	@echo 'CC= CFLAGS= LDFLAGS=  compiler and flags (now $(CC), $(CFLAGS))'

# Everything is made again when the compiler or its flags change. Flags of one object are private to it: others, such as this file,
# would else be made with them when they are made for that object first.
flags := $(O)/.flags
.PHONY: FORCE
$(flags): FORCE
	@mkdir -p $(@D) && test -w $(@D) || { echo "nothing can be written into $(O)" >&2; \
	echo "  try: make O=FOLDER   (builds into another folder, so that the sources may be read-only)" >&2; exit 1; }
	@echo '$(compile) | $(link) | $(runtime_flags)' | cmp -s - $@ || echo '$(compile) | $(link) | $(runtime_flags)' >$@

# Scripts of pictures are taken in by the assembler, which lists no dependencies.
$(O)/obj/dump/export/flame/flame_script.o: dump/export/flame/flamegraph.js
$(O)/obj/dump/export/html/files.o: $(wildcard dump/export/html/*.html dump/export/html/*.css dump/export/html/*.js)

$(call objects,dump/main.c): private ptl_cflags += $(if $(CURSES),-DDUMP_CURSES)
$(call objects,common/content/http.c): private ptl_cflags += $(if $(STATIC),-DCOMMON_STATIC)
$(call objects,dump/export/table/sqlite.c): private ptl_cflags += $(if $(SQLITE),-DDUMP_SQLITE)

$(O)/obj/%.o: %.c $(flags) | packages-present
	$(say) CC $<
	@mkdir -p $(@D)
	$(Q)$(compile) $(if $(filter 1,$(WERROR)),-Werror) -c -o $@ $<

# $(1) sources, $(2) archive. It is also made again when a source was removed.
define archive
$(2).list: FORCE
	@mkdir -p $$(@D); echo '$(1)' | cmp -s - $$@ || echo '$(1)' >$$@
$(2): $(call objects,$(1)) $(2).list
	$$(say) AR $$@
	@rm -f $$@
	$$(Q)ar qcsD $$@ $$(filter %.o,$$^)
endef
$(eval $(call archive,$(common_src),$(common)))
$(eval $(call archive,$(format_src) $(common_src),$(format)))

# Compiled once more, so that functions can be left out one by one: see libptl-provider.so below.
$(O)/obj/single/%.o: %.c $(flags) | packages-present
	$(say) CC $<
	@mkdir -p $(@D)
	$(Q)$(compile) -ffunction-sections -fdata-sections $(if $(filter 1,$(WERROR)),-Werror) -c -o $@ $<

provider_objects := $(call objects,$(provider_src)) $(patsubst %.c,$(O)/obj/single/%.o,$(provider_needs))
$(provider): $(provider_objects)
	$(say) AR $@
	@mkdir -p $(@D); rm -f $@
	$(Q)ar qcsD $@ $^
$(eval $(call archive,$(elf_src),$(elf)))
$(eval $(call archive,$(query_src),$(query)))
$(eval $(call archive,$(flow_src),$(flow)))
$(eval $(call archive,$(perf_src),$(perf)))
$(eval $(call archive,$(import_src),$(import)))
# With all that the library needs of parts that are no library for programs.
$(eval $(call archive,$(analysis_src) $(query_src) $(elf_src),$(analysis)))
$(eval $(call archive,$(record_src),$(record)))

# memset is not to be made of calls of memset. Compilers of Ubuntu define _FORTIFY_SOURCE by themselves, which takes libc.
runtime_loops := $(shell $(CC) -fno-tree-loop-distribute-patterns -Werror -x c -c /dev/null -o /dev/null 2>/dev/null && \
	echo -fno-tree-loop-distribute-patterns || echo -fno-builtin)
runtime_flags := -std=gnu17 -O2 -g -ffreestanding -fPIE -fvisibility=hidden -mgeneral-regs-only -fno-stack-protector \
	$(runtime_loops) -fcf-protection=none -fno-asynchronous-unwind-tables -ffunction-sections -D_GNU_SOURCE -U_FORTIFY_SOURCE
$(O)/obj/runtime/%.o: %.c $(flags) | packages-present
	$(say) CC $<
	@mkdir -p $(@D)
	$(Q)$(CC) $(includes) $(runtime_flags) $(warnings) $(if $(filter 1,$(WERROR)),-Werror) -MMD -MP -c -o $@ $<
$(O)/obj/runtime/%.o: %.S record/software/runtime/layout.h $(flags)
	$(say) AS $<
	@mkdir -p $(@D)
	$(Q)$(CC) -I. -c -o $@ $<
runtime_objects := $(patsubst %.c,$(O)/obj/runtime/%.o,$(runtime_src)) $(O)/obj/runtime/record/software/runtime/enter.o
$(O)/obj/runtime.elf: $(runtime_objects)
	$(say) LINK $@
	$(Q)$(CC) -nostdlib -static-pie -Wl,-z,separate-code -Wl,-z,noexecstack -Wl,-z,norelro -Wl,--build-id=none \
		-Wl,--gc-sections -Wl,--no-undefined -o $@ $^
$(O)/obj/image_data.o: record/software/image_data.S $(O)/obj/runtime.elf
	$(Q)$(CC) -DRUNTIME_FILE='"$(O)/obj/runtime.elf"' -c -o $@ $<
$(record): $(O)/obj/image_data.o
$(eval $(call archive,$(relog_src),$(relog)))
$(eval $(call archive,$(dump_src),$(dump)))
$(eval $(call archive,$(support_src),$(support)))

# libptl.so exports the names that the public headers use and nothing else, but for what leaves the causes of a failure:
# libptl-flow.so puts its own there, so that ptl_error_text gives the failures of both.
$(O)/lib/libptl.map: $(public_headers) $(flags) Makefile
	@mkdir -p $(@D)
	$(Q){ echo 'PTL_0 { global:'; \
	printf '#include <%s>\n' $(public_headers:format/include/%=%) | $(CC) $(includes) -E -P -x c - | \
	grep -oE '\b(ptl_[a-z0-9_]+|PTL_PROVIDER_[A-Z]+)' | sort -u | sed 's/$$/;/'; echo 'local: *; };'; \
	echo 'PTL_PRIVATE { global: common_fail; common_fail_errno; common_fail_in; common_fail_memory; } PTL_0;'; } >$@

# Here without what the headers include: those functions are libptl's.
$(O)/lib/libptl-provider.map: $(provider_headers)
	@mkdir -p $(@D)
	$(Q){ echo 'PTL_0 { global:'; cat $^ | grep -oE '\b(ptl_[a-z0-9_]+|PTL_PROVIDER_[A-Z]+)' | sort -u | sed 's/$$/;/'; \
	echo 'local: *; };'; } >$@

$(shared): $(call objects,$(format_src) $(common_src)) $(O)/lib/libptl.map
	$(say) LINK $@
	$(Q)$(link) -shared -Wl,-soname,$(soname) -Wl,--version-script=$(O)/lib/libptl.map \
		-o $@ $(filter %.o,$^) $(format_libs)
	@ln -sf $(soname) $(O)/lib/libptl.so

# It stays in memory once it is there: threads and forks call it when its users are gone. What it does not
# use of other parts is left out: their thread-local memory would not fit into a running program.
$(provider_shared): $(provider_objects) $(O)/lib/libptl-provider.map
	$(say) LINK $@
	$(Q)$(link) -shared -Wl,-z,nodelete -Wl,--gc-sections -Wl,-soname,$(provider_soname) \
		-Wl,--version-script=$(O)/lib/libptl-provider.map -o $@ $(filter %.o,$^)
	@ln -sf $(provider_soname) $(O)/lib/libptl-provider.so

$(O)/lib/libptl-flow.map: $(flow_headers) $(flags) Makefile
	@mkdir -p $(@D)
	$(Q){ echo 'PTL_0 { global:'; printf '#include <%s>\n' $(flow_headers:flow/include/%=%) | $(CC) $(includes) -E -P -x c - | \
	grep -oE '\bptl_(flow|decoder)_[a-z0-9_]+' | sort -u | sed 's/$$/;/'; echo 'local: *; };'; } >$@

# The public functions with what they use of flow, and of libptl what libptl.so does not export. It takes the libptl.so.0
# that lies beside it, unless RPATH= says that it is where all libraries are.
RPATH ?= -Wl,-rpath,'$$ORIGIN'
$(flow_shared): $(call objects,$(wildcard flow/*.c)) $(flow) $(format) $(shared) $(O)/lib/libptl-flow.map
	$(say) LINK $@
	$(Q)$(link) -shared -Wl,-soname,$(flow_soname) $(RPATH) -Wl,--version-script=$(O)/lib/libptl-flow.map \
		-o $@ $(filter %.o,$^) $(flow) $(shared) $(format) $(flow_libs)
	@ln -sf $(flow_soname) $(O)/lib/libptl-flow.so

$(O)/lib/libptl-analysis.map: $(analysis_headers) $(flags) Makefile
	@mkdir -p $(@D)
	$(Q){ echo 'PTL_0 { global:'; printf '#include <%s>\n' $(analysis_headers:analysis/include/%=%) | $(CC) $(includes) -E -P -x c - | \
	grep -oE '\bptl_(analysis|calls|profile)_[a-z0-9_]+' | sort -u | sed 's/$$/;/'; echo 'local: *; };'; } >$@

$(analysis_shared): $(call objects,$(wildcard analysis/*.c)) $(analysis) $(flow) $(format) $(shared) $(O)/lib/libptl-analysis.map
	$(say) LINK $@
	$(Q)$(link) -shared -Wl,-z,defs -Wl,-soname,$(analysis_soname) $(RPATH) -Wl,--version-script=$(O)/lib/libptl-analysis.map \
		-o $@ $(filter %.o,$^) -Wl,--start-group $(analysis) $(flow) -Wl,--end-group $(shared) $(format) $(analysis_libs)
	@ln -sf $(analysis_soname) $(O)/lib/libptl-analysis.so

# $(1) output, $(2) objects and archives, $(3) libraries
define program
$(1): $(2)
	$$(say) LINK $$@
	@mkdir -p $$(@D)
	$$(Q)$$(link) -o $$@ $$(filter %.o,$$^) -Wl,--start-group $$(filter %.a,$$^) -Wl,--end-group $(3)
endef
$(eval $(call program,$(O)/bin/ptl-record,$(call objects,record/main.c) $(record) $(import) $(flow) $(perf) $(query) $(elf) $(provider) $(format),$(record_libs)))
$(eval $(call program,$(O)/bin/ptl-relog,$(call objects,relog/main.c) $(relog) $(import) $(analysis) $(flow) $(perf) $(query) $(elf) $(format),$(relog_libs)))
$(eval $(call program,$(O)/bin/ptl-dump,$(call objects,dump/main.c) $(dump) $(import) $(analysis) $(flow) $(perf) $(query) $(elf) $(format),$(dump_libs)))

# A unit test is linked with the part whose folder it is in and the parts below, which keeps dependencies pointing
# down. A folder of no part gets everything.
every_lib := $(record) $(relog) $(dump) $(import) $(analysis) $(flow) $(perf) $(query) $(elf) $(provider) $(format)
every_ext := $(dump_libs) $(record_libs)
part_common := $(common)
part_format := $(format)
part_elf    := $(elf) $(format)
part_provider := $(provider) $(format)
part_query  := $(query) $(elf) $(provider) $(format)
# Tests of the flow and of the recorder count with analysis/profile.
part_flow   := $(analysis) $(flow) $(query) $(elf) $(provider) $(format)
part_analysis := $(part_flow)
part_import := $(import) $(flow) $(perf) $(query) $(elf) $(provider) $(format)
part_record := $(record) $(analysis) $(part_import)
part_relog  := $(relog) $(analysis) $(part_import)
part_dump   := $(dump) $(analysis) $(part_import)
part_of      = $(or $(part_$(notdir $(patsubst %/,%,$(dir $(1))))),$(every_lib))
$(foreach t,$(unit),$(eval $(call program,$(t),$(t:$(O)/%=$(O)/obj/%.o) \
	$(support) $(call part_of,$(t)),$(every_ext) -lcmocka)))
$(call objects,$(unit_src)): | test-packages-present
$(foreach t,$(fuzz),$(eval $(call program,$(t),$(O)/obj/tests/fuzz/$(notdir $(t)).o \
	$(O)/obj/tests/fuzz/replay.o $(support) $(every_lib),$(every_ext))))
$(foreach t,$(helpers),$(eval $(call program,$(t),$(O)/obj/tests/tools/$(notdir $(t)).o \
	$(every_lib),$(every_ext))))
$(foreach t,$(benches),$(eval $(call program,$(t),$(O)/obj/bench/$(notdir $(t)).o $(support) $(every_lib),$(every_ext) -lm)))

# Programs to be traced are built plainly, whatever PTL itself is built with, and by gcc, whose attributes and options they use.
program_cc  := $(if $(findstring clang,$(CC)),gcc,$(CC))
program_cxx := $(if $(findstring clang,$(CXX)),g++,$(CXX))
program_flags = -O2 -g -pthread -Wall -D_GNU_SOURCE -Itestdata/programs $(flags_$(basename $(@F)))
program_make  = $(program_flags) -o $@ $< $(libs_$(basename $(@F)))
program_deps := $(wildcard testdata/programs/*.h testdata/programs/flags.mk) | packages-present

$(O)/programs/%: testdata/programs/%.c $(program_deps)
	$(say) CC $@
	@mkdir -p $(@D)
	$(Q)$(program_cc) $(program_make)

$(O)/programs/%: testdata/programs/%.cpp $(program_deps)
	$(say) CXX $@
	@mkdir -p $(@D)
	$(Q)$(program_cxx) $(program_make)

$(O)/programs/%.so: testdata/programs/%.c $(program_deps)
	$(say) CC $@
	@mkdir -p $(@D)
	$(Q)$(program_cc) -shared -fPIC $(program_make)

# Examples see what is installed: the public headers and the shared libraries.
$(O)/examples/%: testdata/examples/%.c $(shared) $(provider_shared) $(flow_shared) $(analysis_shared) $(public_headers) $(provider_headers) \
		$(flow_headers) $(analysis_headers)
	$(say) CC $@
	@mkdir -p $(@D)
	$(Q)$(CC) -O2 -g -Wall -Wextra $(if $(filter 1,$(WERROR)),-Werror) -Iformat/include -Iprovider/include -Iflow/include \
		-Ianalysis/include -o $@ $< -L$(O)/lib -Wl,--as-needed -lptl-analysis -lptl-flow -lptl-provider -lptl -Wl,-rpath,'$$ORIGIN/../lib'

$(O)/examples/%.so: testdata/examples/%.c
	$(say) CC $@
	@mkdir -p $(@D)
	$(Q)$(CC) -O2 -g -Wall -Wextra $(if $(filter 1,$(WERROR)),-Werror) -shared -fPIC -o $@ $< -ldl

# What stands in for Intel PT: tests load it into ptl-record.
$(pmu): $(call objects,$(wildcard tests/pmu/*.c)) $(format)
	$(say) LINK $@
	@mkdir -p $(@D)
	$(Q)$(link) -shared -Wl,--exclude-libs,ALL -o $@ $^ -ldl $(format_libs)

# Allocations and writes that fail, by turns: tests preload it.
$(failing): $(call objects,$(wildcard tests/failing/*.c))
	$(say) LINK $@
	@mkdir -p $(@D)
	$(Q)$(link) -shared -o $@ $^

# ---- tests -------------------------------------------------------------------------------------------

asan := $(O)/asan
# Debug information has what reports show: functions and lines. With -O2 and all of it, the compiler takes a third longer.
asan_flags = SAN=address,undefined CFLAGS='-O1 -g1'
again = $(MAKE) --no-print-directory
# As many jobs as CPUs, unless the caller said how many.
jobs  = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$$(nproc))
# Where everything is: the way there may have blanks in it.
places    = PTL_BIN='$(abspath $(O)/bin)' PTL_PROGRAMS='$(abspath $(O)/programs)'
run_tests = $(places) PTL_LIB='$(abspath $(O)/lib)' PTL_TEST_TOOLS='$(abspath $(O)/tests)' \
	PTL_TESTS='$(abspath tests)' PTL_TESTDATA='$(abspath testdata)' PTL_SHARED_TRACES='$(TRACES)' \
	PTL_SHARED_ETL='$(ETL)' CC='$(CC)' PYTHON=$(PYTHON) tests/run
# Fails if T= picks none.
need_tests = $(if $(strip $(1)),:,echo "no test has '$(T)' in its name" >&2; exit 1)
pick   = $(if $(T),$(foreach t,$(1),$(if $(findstring $(T),$(notdir $(t))),$(t))),$(1))

.PHONY: check demo demo-plugin unit unit-programs random attack e2e cheap soak fuzz fuzz-engines bench lint
# Two steps, so that everything is looked for after it has been installed. The inputs of the fuzz targets are for the sanitizers.
check: deps
	+@$(again) $(jobs) tests
	+@$(again) $(jobs) O=$(asan) $(asan_flags) unit-programs
	@$(run_tests) $(unit) $(unit:$(O)/%=$(asan)/%) $(fuzz:$(O)/%=$(asan)/%) $(e2e_tests)

demo: deps
	+@$(again) $(jobs) all programs
	@if [ -x testdata/demo ]; then $(places) O='$(abspath $(O))' testdata/demo; else echo 'testdata/demo is not there'; exit 1; fi

demo-plugin: deps
	+@$(again) $(jobs) all programs
	@$(places) O='$(abspath $(O))' testdata/demo-plugin

unit-programs: $(call pick,$(unit) $(fuzz))
unit: unit-programs
	@$(call need_tests,$(call pick,$(unit) $(fuzz)))
	@$(run_tests) $(call pick,$(unit) $(fuzz))

# Other programs each time: the first seed is printed, and that of a program that fails.
RANDOM_SECONDS ?= 60
random_tests := $(patsubst %,$(O)/tests/unit/flow/test_%,native engine versions interleaved turns)
random: $(random_tests)
	@first=$${PTL_RANDOM_FIRST:-$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}; \
		echo "random programs: PTL_RANDOM_FIRST=$$first RANDOM_SECONDS=$(RANDOM_SECONDS)"; \
		PTL_RANDOM_FIRST=$$first PTL_RANDOM_SECONDS=$(RANDOM_SECONDS) PTL_TEST_TIMEOUT=14400 $(run_tests) $(random_tests)

# Damaged and hostile files: others each time, as with random programs.
SECONDS ?= 60
attack_tools := $(patsubst %,$(asan)/tests/%,make_sample pt_assemble)
.PHONY: attack-recorder
# Of the programs without sanitizers, which have an allocator of their own.
attack-recorder: tools $(failing)
	@$(places) PTL_TEST_TOOLS='$(abspath $(O)/tests)' PTL_TESTS='$(abspath tests)' \
		PTL_ATTACK_SECONDS=$(SECONDS) $(PYTHON) tests/attack/recorder.py

.PHONY: attack-users
attack-users: tools
	@$(places) PTL_ATTACK_SECONDS=$(SECONDS) $(PYTHON) tests/attack/users.py

attack: attack-recorder attack-users
	+@$(again) $(jobs) O=$(asan) $(asan_flags) tools $(attack_tools)
	@PTL_BIN=$(abspath $(asan)/bin) PTL_TEST_TOOLS=$(abspath $(asan)/tests) PTL_TESTS=$(abspath tests) \
		PTL_ATTACK_SECONDS=$(SECONDS) $(PYTHON) tests/attack/attack.py

# Threads of the recorder and of decoding under ThreadSanitizer: tests that many threads are in. What stands in for Intel PT is not
# instrumented, so that what it writes counts as the kernel's.
tsan := $(O)/tsan
thread_tests := $(wildcard tests/e2e/intel_pt*.t) $(patsubst %,tests/e2e/%.t,kernel_turns parallel_names record_modes software_soak)
thread_units := $(patsubst %,$(tsan)/tests/unit/flow/%,test_decoder_code test_scope_threads)
.PHONY: check-threads
check-threads: places = PTL_BIN='$(abspath $(tsan)/bin)' PTL_PROGRAMS='$(abspath $(O)/programs)'
check-threads: all helpers programs
	+@$(again) $(jobs) O=$(tsan) SAN=thread tools $(thread_units)
	@rm -f $(tsan)/report.*
	@TSAN_OPTIONS='ignore_noninstrumented_modules=1 log_path=$(abspath $(tsan)/report)' $(run_tests) $(call pick,$(thread_units) $(thread_tests))
	@for report in $(tsan)/report.*; do [ ! -e "$$report" ] || { cat "$$report"; exit 1; }; done

# Leaks, wrong accesses and undefined behaviour of the programs themselves, in tests that set no bound on memory and no environment, and
# run no example, which is not instrumented.
memory_tests := $(filter-out $(patsubst %,tests/e2e/%.t,dump_flow record_run relog_example relog_memory relog_rules),$(foreach t,dump export import \
	intel_pt record relog,$(wildcard tests/e2e/$(t)*.t)) $(patsubst %,tests/e2e/%.t,browse kernel_turns live parallel sessions shards))
.PHONY: check-memory
check-memory: places = PTL_BIN='$(abspath $(asan)/bin)' PTL_PROGRAMS='$(abspath $(O)/programs)'
check-memory: all helpers programs
	+@$(again) $(jobs) O=$(asan) $(asan_flags) tools
	@rm -f $(asan)/report.*
	@ASAN_OPTIONS='verify_asan_link_order=0 log_path=$(abspath $(asan)/report)' \
		UBSAN_OPTIONS='print_stacktrace=1 log_path=$(abspath $(asan)/report)' $(run_tests) $(call pick,$(memory_tests))
	@for report in $(asan)/report.*; do [ ! -e "$$report" ] || { cat "$$report"; exit 1; }; done

# For machines with Intel PT: docs/hardware.md.
.PHONY: check-hardware
check-hardware: all helpers programs
	@$(places) PTL_TEST_TOOLS='$(abspath $(O)/tests)' $(PYTHON) tests/hardware/check_hardware.py

e2e: all python $(helpers) $(programs) $(examples) $(pmu) $(failing)
	@$(call need_tests,$(call pick,$(e2e_tests)))
	@$(run_tests) $(call pick,$(e2e_tests))

# Where there is no browser, no server of a database, or no Slurm, make e2e skips what these test.
.PHONY: check-browser check-databases check-slurm check-exports check-programs pictures
check-browser: browser-deps
	+@$(again) $(jobs) tests
	@PTL_BROWSER=1 $(run_tests) $(filter tests/e2e/browser_%,$(e2e_tests))
check-databases: database-deps
	+@$(again) $(jobs) tests
	@PTL_DATABASES=1 $(run_tests) tests/e2e/fleet_databases.t
check-slurm: slurm-deps
	+@$(again) $(jobs) tests
	@PTL_SLURM=1 $(run_tests) tests/e2e/slurm.t
check-exports: export-deps
	+@$(again) $(jobs) all helpers programs
	@$(run_tests:tests/run=) $(PYTHON) tests/exports/check_exports.py $(T)
check-programs: deps
	+@$(again) $(jobs) all helpers
	@PTL_EVERY_PROGRAM=1 PTL_TEST_TIMEOUT=3600 $(run_tests) tests/e2e/relog_programs.t
# Debian releases that PTL is tested in: the README names them.
RELEASES ?= bookworm trixie
.PHONY: check-releases
check-releases: release-deps
	@tests/releases/check $(if $(QUICK),--quick) $(RELEASES)
pictures: browser-deps
	+@$(again) $(jobs) all
	@$(run_tests:tests/run=) $(PYTHON) testdata/pictures docs/pictures

# Tests of what depends on files, processes, clocks and locales. Left out are long end-to-end tests of what is recorded or decoded, which is the
# same everywhere: programs in every configuration, streams of every kind, laws of decoding.
costly := analysis_library behaviour calls_gaps calls_truth calls_views crash dump_annotate dump_diff dump_flow dump_jit_versions \
	dump_samples export_perf export_perf_kernel export_timeline flow_events flow_library format_readers gdb gdb_programs hardware harness \
	hostile_elf hostile_values import_etl intel_pt_kernel jit kernel_turns lint packaging packets parallel record_attach record_failing \
	record_modes relog_cut relog_laws relog_live_cut relog_live_whole relog_memory relog_merge relog_parts relog_perf_kernel \
	relog_perf_options relog_perf_pt relog_programs relog_redact_flow relog_rules software_random software_soak software_transparent \
	software_truth
cheap_tests := $(filter-out tests/e2e/truth_%.t $(costly:%=tests/e2e/%.t),$(e2e_tests))
cheap_unit  := $(foreach d,common elf provider record relog,$(filter $(O)/tests/unit/$(d)/%,$(unit)))
cheap: all python $(cheap_unit) $(helpers) $(programs) $(examples) $(pmu) $(failing)
	@$(run_tests) $(cheap_unit) $(cheap_tests)

soak: deps
	+@$(again) $(jobs) tests
	@PTL_SOAK=1 PTL_TEST_TIMEOUT=14400 $(run_tests) $(call pick,$(filter tests/e2e/truth_% tests/e2e/software_% tests/e2e/relog_memory.t tests/e2e/record_faults.t,$(e2e_tests)))

engines := $(patsubst $(O)/tests/fuzz/%,$(O)/engines/%,$(fuzz))
$(foreach t,$(fuzz),$(eval $(call program,$(O)/engines/$(notdir $(t)),$(O)/obj/tests/fuzz/$(notdir $(t)).o \
	$(support) $(every_lib),-fsanitize=fuzzer $(every_ext))))
fuzz-engines: $(engines) $(fuzz)
fuzz:
	+@$(again) $(jobs) O=$(O)/fuzzing CC=clang SAN=fuzzer-no-link,address,undefined \
		CFLAGS='-O1 -g' fuzz-engines
	@FUZZ_SECONDS=$(FUZZ_SECONDS) tests/fuzz/run $(O)/fuzzing $(call pick,$(fuzz))

bench: all $(benches) $(programs) $(helpers)
	@if [ -x bench/run ]; then $(places) PTL_BENCH='$(abspath $(O)/bench)' bench/run; else echo 'bench/run is not there'; fi

lint:
	@tests/lint

# For editors. Compiler commands are those that make would run; nothing is built.
.PHONY: compile_commands.json tags
compile_commands.json:
	$(say) JSON $@
	+@$(again) --always-make --dry-run NO_PACKAGE_CHECK=1 V=1 tests | $(PYTHON) packaging/compile_commands.py >$@
tags:
	$(say) TAGS $@
	@command -v ctags >/dev/null || { echo "make tags: ctags is not installed" >&2; \
		echo "  try: apt-get install universal-ctags" >&2; exit 1; }
	@git ls-files '*.c' '*.h' | ctags -L - -f $@ --c-kinds=+p

# ---- installation ------------------------------------------------------------------------------------

bindir := $(DESTDIR)$(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
libdir := $(DESTDIR)$(LIBDIR)
incdir := $(DESTDIR)$(PREFIX)/include/ptl
mandir := $(DESTDIR)$(PREFIX)/share/man
# README.md and docs/ beside each other, as their links have it; manual pages call them what they are called here.
docplace := $(PREFIX)/share/doc/ptl
docdir := $(DESTDIR)$(docplace)
bashdir := $(DESTDIR)$(PREFIX)/share/bash-completion/completions
zshdir := $(DESTDIR)$(ZSHDIR)
pages  := $(wildcard man/*.[1-8])
documents := $(wildcard docs/*.md) $(wildcard testdata/examples/*.c testdata/examples/*.rules)
pictures := $(wildcard docs/pictures/*.png)
schemas := $(wildcard docs/json/*.json)
ci_files := $(wildcard docs/ci/*)
units := $(wildcard docs/systemd/*)
bash_completions := $(wildcard man/completion/*.bash)
zsh_completions  := $(wildcard man/completion/_*)

.PHONY: install uninstall clean
install: all $(if $(installs_python),install-python,no-python)
	$(say) INSTALL '$(DESTDIR)$(PREFIX)'
	$(Q)install -d '$(bindir)' '$(libdir)/pkgconfig' '$(incdir)' '$(docdir)/docs/pictures'
	$(Q)$(if $(tools),install $(tools) '$(bindir)')
	$(Q)install -m 644 $(format) $(shared) $(provider) $(provider_shared) $(flow) $(flow_shared) $(analysis) $(analysis_shared) '$(libdir)'
	$(Q)ln -sf $(soname) '$(libdir)/libptl.so'
	$(Q)ln -sf $(provider_soname) '$(libdir)/libptl-provider.so'
	$(Q)ln -sf $(flow_soname) '$(libdir)/libptl-flow.so'
	$(Q)ln -sf $(analysis_soname) '$(libdir)/libptl-analysis.so'
	$(Q)install -m 644 $(public_headers) $(provider_headers) $(flow_headers) $(analysis_headers) '$(incdir)'
	$(Q)printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$(LIBDIR:$(PREFIX)/%=$${prefix}/%)' 'includedir=$${prefix}/include' '' \
		'Name: ptl' 'Description: Reads and writes Processor Trace Log files' 'Version: $(version)' \
		'Requires.private: libzstd libxxhash nettle' 'Libs: -L$${libdir} -lptl' \
		'Libs.private: -pthread' 'Cflags: -I$${includedir}' >'$(libdir)/pkgconfig/ptl.pc'
	$(Q)printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$(LIBDIR:$(PREFIX)/%=$${prefix}/%)' 'includedir=$${prefix}/include' '' \
		'Name: ptl-provider' 'Description: Typed events of a program, which PTL records' \
		'Version: $(version)' 'Libs: -L$${libdir} -lptl-provider' 'Libs.private: -pthread' \
		'Cflags: -I$${includedir}' >'$(libdir)/pkgconfig/ptl-provider.pc'
	$(Q)printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$(LIBDIR:$(PREFIX)/%=$${prefix}/%)' 'includedir=$${prefix}/include' '' \
		'Name: ptl-flow' 'Description: Decodes Intel PT into what was executed' 'Version: $(version)' \
		'Requires: ptl' 'Libs: -L$${libdir} -lptl-flow' 'Libs.private: $(flow_libs) -pthread' \
		'Cflags: -I$${includedir}' >'$(libdir)/pkgconfig/ptl-flow.pc'
	$(Q)printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$(LIBDIR:$(PREFIX)/%=$${prefix}/%)' 'includedir=$${prefix}/include' '' \
		'Name: ptl-analysis' 'Description: Calls and sums of functions from Intel PT' 'Version: $(version)' \
		'Requires: ptl' 'Requires.private: ptl-flow' 'Libs: -L$${libdir} -lptl-analysis' \
		'Libs.private: $(analysis_libs) -pthread' 'Cflags: -I$${includedir}' >'$(libdir)/pkgconfig/ptl-analysis.pc'
	$(Q)set -e; for page in $(pages); do dir='$(mandir)'/man$${page##*.}; install -d "$$dir"; \
		sed 's|^\.\(It \)\{0,1\}Pa docs/|.\1Pa $(docplace)/docs/|' $$page | gzip -9n >"$$dir/$${page##*/}.gz"; done
	$(Q)install -m 644 README.md LICENSE '$(docdir)'
	$(Q)install -m 644 $(documents) '$(docdir)/docs'
	$(Q)install -m 644 $(pictures) '$(docdir)/docs/pictures'
	$(Q)install -d '$(docdir)/docs/json'
	$(Q)install -m 644 $(schemas) '$(docdir)/docs/json'
	$(Q)install -d '$(docdir)/docs/ci'
	$(Q)install $(ci_files) '$(docdir)/docs/ci'; chmod 644 '$(docdir)'/docs/ci/*.yml
	$(Q)install -d '$(docdir)/docs/systemd'
	$(Q)install -m 644 $(units) '$(docdir)/docs/systemd'
	$(Q)set -e; for file in $(bash_completions); do install -d '$(bashdir)'; \
		install -m 644 $$file '$(bashdir)'/$$(basename $$file .bash); done
	$(Q)set -e; for file in $(zsh_completions); do install -d '$(zshdir)'; \
		install -m 644 $$file '$(zshdir)'; done

# $(1) folder, $(2) files in it. Folders of our own go too, if they are empty then.
remove = $(Q)if cd '$(1)' 2>/dev/null; then rm -f $(2); fi
remove_empty = $(Q)if [ -d '$(1)' ]; then rmdir --ignore-fail-on-non-empty '$(1)'; fi

uninstall: uninstall-python
	$(say) REMOVE '$(DESTDIR)$(PREFIX)'
	$(call remove,$(bindir),ptl-record ptl-relog ptl-dump)
	$(call remove,$(libdir),libptl.a libptl.so $(soname) pkgconfig/ptl.pc)
	$(call remove,$(libdir),libptl-provider.a libptl-provider.so $(provider_soname) pkgconfig/ptl-provider.pc)
	$(call remove,$(libdir),libptl-flow.a libptl-flow.so $(flow_soname) pkgconfig/ptl-flow.pc)
	$(call remove,$(libdir),libptl-analysis.a libptl-analysis.so $(analysis_soname) pkgconfig/ptl-analysis.pc)
	$(call remove,$(incdir),$(notdir $(public_headers) $(provider_headers) $(flow_headers) $(analysis_headers)))
	$(call remove,$(docdir),README.md LICENSE $(addprefix docs/,$(notdir $(documents))) $(pictures) $(schemas) $(ci_files) $(units))
	$(Q)for page in $(pages); do rm -f '$(mandir)'/man$${page##*.}/$${page##*/}.gz; done
	$(call remove,$(bashdir),$(basename $(notdir $(bash_completions))))
	$(call remove,$(zshdir),$(notdir $(zsh_completions)))
	$(call remove_empty,$(incdir))
	$(call remove_empty,$(docdir)/docs/pictures)
	$(call remove_empty,$(docdir)/docs/json)
	$(call remove_empty,$(docdir)/docs/ci)
	$(call remove_empty,$(docdir)/docs/systemd)
	$(call remove_empty,$(docdir)/docs)
	$(call remove_empty,$(docdir))

clean:
	$(Q)rm -rf $(O)

-include $(patsubst %.o,%.d,$(call objects,$(mains) $(python_src) $(support_src) $(common_src) $(format_src) $(provider_src) $(record_src) \
	$(query_src) $(perf_src) $(flow_src) $(analysis_src) $(import_src) $(elf_src) $(relog_src) $(dump_src) $(unit_src) $(fuzz_src) tests/fuzz/replay.c $(tool_src) $(bench_src) $(wildcard tests/pmu/*.c tests/failing/*.c)))
-include $(runtime_objects:%.o=%.d)
-include $(patsubst %.c,$(O)/obj/single/%.d,$(provider_needs))
