# SPDX-License-Identifier: BSD-2-Clause
# Included by the Makefile: tarballs, packages and static programs for other machines.

, := ,

# ---- the sources -------------------------------------------------------------------------------------

version = $(shell sed -n 's/^.define COMMON_VERSION "\(.*\)"/\1/p' common/version.h)
tarball = $(O)/dist/ptl-$(version).tar.gz

# Files have the time of the commit, and gzip writes no time: a commit always gives the same bytes.
.PHONY: dist
dist:
	@[ "$$(git rev-parse --show-toplevel 2>/dev/null)" = "$$(pwd -P)" ] || { echo 'make dist: this is no git repository: the tarball has what is committed' >&2; exit 1; }
	@[ -z "$$(git status --porcelain)" ] || echo 'make dist: what is not committed is left out' >&2
	@mkdir -p $(O)/dist
	$(Q)git -c tar.umask=0022 archive --format=tar --prefix=ptl-$(version)/ HEAD >$(O)/dist/ptl.tar
	$(Q)gzip -9n <$(O)/dist/ptl.tar >$(tarball); rm $(O)/dist/ptl.tar
	$(say) DIST $(tarball)

# ---- a ptl-dump without shared libraries --------------------------------------------------------------
# Debian has static libraries of all dependencies of ptl-dump except Zydis, which is built from Debian's sources, and libipt,
# which is left out: only `ptl-dump verify` needs libipt.

STATIC_PACKAGES := $(BUILD_PACKAGES) libbz2-dev libzycore-dev dpkg-dev

ifeq ($(STATIC),1)
ptl_cflags  += -DFLOW_WITHOUT_LIBIPT -DELF_WITHOUT_DEBUGINFOD
ptl_ldflags += -static
dump_libs   := $(O)/lib/libZydis.a -ldw -lelf -lz -llzma -lbz2 -liberty $(if $(CURSES),-lncursesw -ltinfo) $(if $(SQLITE),-lsqlite3 -lm) \
	$(format_libs)
flow_src    := $(filter-out flow/libipt/%,$(flow_src))
$(O)/bin/ptl-dump: $(O)/lib/libZydis.a
endif

$(O)/lib/libZydis.a: packaging/static-zydis
	$(say) ZYDIS $@
	$(Q)packaging/static-zydis '$(CC)' $@

.PHONY: static check-packaging
static: PACKAGES = $(STATIC_PACKAGES)
static: deps
	@$(again) $(jobs) O=$(O)/static STATIC=1 $(O)/static/bin/ptl-dump
	$(say) STATIC $(O)/static/bin/ptl-dump

check-packaging: tests
	@$(again) static
	@$(places) PTL_STATIC='$(abspath $(O)/static/bin)' $(PYTHON) packaging/check-static
	@$(PYTHON) packaging/check-reproducible '$(abspath $(O))'

# ---- the Python module ----------------------------------------------------------------------------------
# Python sources, cffi's module of the public headers, and loops in C. The module finds the libraries beside it in the
# output folder, unless an empty RPATH= selects the folders of the system. After
# installation, the libraries are three folders up.

python_src := $(wildcard bindings/python/*.c)
python_modules := $(wildcard bindings/python/ptl/*)
python_made := $(O)/python/ptl/_declarations.py $(O)/python/ptl/_loops.so $(python_modules:bindings/python/%=$(O)/python/%)

.PHONY: python
python: $(python_made)

$(O)/python/ptl/_loops.so: $(call objects,$(python_src)) $(shared) $(flow_shared) $(analysis_shared)
	$(say) LINK $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(filter-out -Wl$(,)--as-needed,$(ptl_ldflags)) $(LDFLAGS) -shared -Wl,--no-as-needed \
		$(if $(RPATH),-Wl$(,)-rpath$(,)'$$ORIGIN/../../lib:$$ORIGIN/../../..') -o $@ $(filter %.o %.so.0,$^)

$(O)/python/ptl/_declarations.py: bindings/python/build.py bindings/python/loops.h packaging/declarations.py $(public_headers) $(flow_headers) $(analysis_headers)
	$(say) CFFI $@
	@mkdir -p $(@D)
	$(Q)CC='$(CC)' PYTHONDONTWRITEBYTECODE=1 $(PYTHON) bindings/python/build.py $(O)/python

# The folder below PREFIX that $(PYTHON) searches; if there is none, PYTHONPATH has to name the folder.
PYTHONDIR ?= $(shell $(PYTHON) -c 'import site, sys; start = sys.argv[1] + "/lib/python3"; \
	print(([name for name in site.getsitepackages() if name.startswith(start)] + [start + "/dist-packages"])[0])' '$(PREFIX)')
# make install includes the module, unless the package that builds it is missing.
installs_python := $(if $(filter install,$(MAKECMDGOALS)),$(shell $(PYTHON) -c 'import cffi' 2>/dev/null && echo yes))
.PHONY: install-python no-python uninstall-python
no-python:
	@echo 'make install: the Python module is not installed, since python3-cffi is missing; try: apt-get install python3-cffi' >&2
uninstall-python:
	$(call remove,$(DESTDIR)$(PYTHONDIR)/ptl,$(notdir $(python_made)))
	$(Q)rm -rf '$(DESTDIR)$(PYTHONDIR)/ptl/__pycache__'
	$(call remove_empty,$(DESTDIR)$(PYTHONDIR)/ptl)
install-python: python
	$(say) INSTALL '$(DESTDIR)$(PYTHONDIR)'
	$(Q)install -d '$(DESTDIR)$(PYTHONDIR)/ptl'
	$(Q)install -m 644 $(python_made) '$(DESTDIR)$(PYTHONDIR)/ptl'

$(O)/python/ptl/%: bindings/python/ptl/%
	@mkdir -p $(@D); cp $< $@

# ---- ABI of the shared libraries ------------------------------------------------------------------------

.PHONY: abi
abi: lib
	$(Q)CC='$(CC)' packaging/abi --update $(O)/lib

# ---- Debian packages ----------------------------------------------------------------------------------

DEB_PACKAGES := $(BUILD_PACKAGES) python3-cffi dh-python debhelper dpkg-dev fakeroot git
CHECK_DEB_PACKAGES := $(DEB_PACKAGES) lintian debootstrap

# Builds the committed sources. The tests are the tests of `make check`.
.PHONY: deb check-deb
deb: PACKAGES = $(DEB_PACKAGES)
deb: deps dist
	@rm -rf $(O)/deb; mkdir -p $(O)/deb
	$(Q)tar -xf $(tarball) -C $(O)/deb
	$(Q)cd $(O)/deb/ptl-$(version) && DEB_BUILD_OPTIONS="$${DEB_BUILD_OPTIONS-nocheck parallel=$$(nproc)}" \
		dpkg-buildpackage -us -uc -b -rfakeroot >../build.log 2>&1 || { tail -n 30 ../build.log >&2; exit 1; }
	$(Q)rm -r $(O)/deb/ptl-$(version)
	$(say) DEB '$(O)/deb'

check-deb: PACKAGES = $(CHECK_DEB_PACKAGES)
check-deb: deps
	@$(again) deb
	@lintian --no-tag-display-limit --fail-on error $(O)/deb/*.changes
	@packaging/check-deb $(O)/deb
