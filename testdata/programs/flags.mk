# SPDX-License-Identifier: BSD-2-Clause
# Flags of single programs beyond the common flags, and generated files of programs.

flags_static     := -static
flags_value_classes := -std=c++17
flags_no_other_memory := -static
flags_static_pie := -static-pie
flags_tasks      := -static -no-pie
flags_bare       := -static -nostdlib -ffreestanding -fno-stack-protector
libs_static      := -lm
libs_static_pie  := -lm
libs_dlopen_reuse := -ldl
# Both libraries want the same address: see dlopen_reuse.c.
flags_dlopen_reuse := -no-pie
flags_libreuse_a := -Wl,-Ttext-segment=0x5000000000
flags_libreuse_b := $(flags_libreuse_a)

# Plugins in a private format, packed by a script: see private_loader.c. A key hides a plugin's
# code in its file; without a key the sections can be mapped.
plugin_files := $(patsubst testdata/programs/plugins/%.c,$(O)/programs/%.plugin,\
	$(wildcard testdata/programs/plugins/*.c))
programs += $(plugin_files)
key_sorter := 0x5a
key_mixer := 0x33

$(O)/programs/%.plugin: testdata/programs/plugins/%.c testdata/programs/plugins/host.h testdata/programs/plugins/pack
	$(say) PACK $@
	@mkdir -p $(@D)
	$(Q)$(CC) -O1 -c -fno-pic -mcmodel=large -ffreestanding -fno-stack-protector -fno-asynchronous-unwind-tables \
		-Wall -o $@.o $<
	$(Q)$(PYTHON) testdata/programs/plugins/pack $@.o $@ $(key_$(basename $(@F))) && rm -f $@.o

# Programs with providers.
provider_programs := authentication plugin_host provider_writer
$(foreach p,$(provider_programs),$(eval flags_$(p) := -Iformat/include -Iprovider/include) \
	$(eval libs_$(p) := $(provider)) $(eval $(O)/programs/$(p): $(provider)))
# An unloadable module uses the shared library, which stays loaded.
flags_libevents := -Iformat/include -Iprovider/include
libs_libevents = $(provider_shared) -Wl,-rpath,'$$ORIGIN/../lib'
$(O)/programs/libevents.so: $(provider_shared)
# Checks the header against the standard, with warnings as errors.
flags_events_cxx := -std=c++17 -pedantic -Wextra -Werror -Iformat/include -Iprovider/include
libs_events_cxx = $(libs_libevents)
$(O)/programs/events_cxx: $(provider_shared)

# Programs that log their calls. Inlining is off: the log would include inlined functions, which are not called.
flags_calls := -finstrument-functions -fno-inline -rdynamic
libs_calls := -ldl
flags_call_exceptions := -finstrument-functions -finstrument-functions-exclude-file-list=/usr/ -fno-inline
libs_call_exceptions := -ldl
flags_call_contexts := -finstrument-functions -fno-inline -Wno-infinite-recursion
libs_call_contexts := -ldl
flags_call_jit := -finstrument-functions -fno-inline
libs_call_jit := -ldl
flags_libcalls := -finstrument-functions -fno-inline
