/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Demangles by libiberty, which has no length limit: longjmp leaves the demangler when the limit is reached. The C++
 * demangler allocates no heap memory. The Rust demangler does while it emits a non-ASCII part, so longjmp waits for the
 * next ASCII part.
 */
#include "elf/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS (DMGL_PARAMS | DMGL_ANSI)

struct given {
	struct ptl_bytes *plain;
	bool rust;
	bool full;
	jmp_buf leave;
};

static bool is_ascii(const char *part, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (part[i] & 0x80)
			return false;
	return true;
}

static void take_name_part(const char *part, size_t size, void *context)
{
	struct given *given = context;
	struct ptl_bytes *plain = given->plain;

	if (size > ELF_DEMANGLED_MAX - plain->size)
		given->full = true;
	if (!given->full)
		common_write_bytes(plain, part, size);
	given->full |= plain->failed;
	if (given->full && (!given->rust || is_ascii(part, size)))
		longjmp(given->leave, 1);
}

static bool run_demangler(struct given *given, const char *name)
{
	int done = 0;

	given->plain->size = 0;
	given->full = false;
	if (setjmp(given->leave) == 0)
		done = given->rust ? rust_demangle_callback(name, OPTIONS, take_name_part, given)
				   : cplus_demangle_v3_callback(name, OPTIONS, take_name_part, given);
	else
		given->full = true;
	given->plain->failed = false;
	return done && !given->full;
}

static bool demangle(const char *name, struct ptl_bytes *plain)
{
	struct given given = {.plain = plain, .rust = true};

	if (run_demangler(&given, name))
		return true;
	given.rust = false;
	return run_demangler(&given, name);
}

bool elf_demangle(const char *name, struct ptl_bytes *plain)
{
	const char *at = strchr(name, '@');
	char *mangled = NULL;
	bool done;

	plain->size = 0;
	/*
	 * Mangled names start with "_", or contain "_Z" after a prefix. Trying the demangler on every name would be
	 * slow.
	 */
	if (name[0] != '_' && !strstr(name, "_Z"))
		return false;
	if (at) {
		/* Example: "_Z3foov@plt" is "foo()@plt". */
		mangled = strndup(name, (size_t)(at - name));
		done = mangled && demangle(mangled, plain);
		free(mangled);
		if (done)
			common_write_bytes(plain, at, strlen(at));
	} else {
		done = demangle(name, plain);
	}
	if (!done || plain->failed)
		plain->size = 0;
	return plain->size != 0;
}
