/* SPDX-License-Identifier: BSD-2-Clause */
/* Files with names of code that was made at run time, by process. */
#include "elf/jit_names.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/text.h"
#include "common/vector.h"

#define NAMES_MAX ((size_t)256 << 20)

static struct elf_jit_names **all;
static size_t count;

void elf_jit_names_free(void)
{
	for (size_t i = 0; i < count; i++) {
		elf_symbol_list_free(&all[i]->symbols);
		free(all[i]->lines.list);
		free(all[i]);
	}
	free(all);
	all = NULL;
	count = 0;
}

const struct elf_jit_names *elf_jit_names_of(uint32_t pid)
{
	const struct elf_jit_names *of_any = NULL;

	for (size_t i = 0; i < count; i++) {
		if (all[i]->any)
			of_any = all[i];
		else if (all[i]->pid == pid)
			return all[i];
	}
	return of_any;
}

/* Those of the process, which may be empty; NULL without memory. */
static struct elf_jit_names *need(uint32_t pid, bool any)
{
	struct elf_jit_names *names;

	for (size_t i = 0; i < count; i++)
		if (all[i]->any == any && all[i]->pid == pid)
			return all[i];
	if (!common_vector_room(&all, count, sizeof(*all)))
		return NULL;
	names = calloc(1, sizeof(*names));
	if (!names)
		return NULL;
	names->pid = pid;
	names->any = any;
	names->symbols.limit = NAMES_MAX;
	all[count++] = names;
	return names;
}

/* A decimal number up to `end`. */
static bool take_pid(const char *text, const char *end, uint32_t *pid)
{
	uint64_t value = 0;

	if (text == end || end - text > 10)
		return false;
	for (; text < end; text++) {
		if (*text < '0' || *text > '9')
			return false;
		value = value * 10 + (uint64_t)(*text - '0');
	}
	*pid = (uint32_t)value;
	return value <= UINT32_MAX;
}

/* "perf-4711.map" */
static bool pid_of_name(const char *path, uint32_t *pid)
{
	const char *name = common_base_name(path), *end = strstr(name, ".map");

	return !strncmp(name, "perf-", 5) && end && !end[4] && take_pid(name + 5, end, pid);
}

static int read_names(const char *path, const struct elf_symbol_source *source, bool has_pid, uint32_t pid)
{
	const bool dump = elf_is_jitdump(source);
	struct elf_symbol_list none = {.size = 1, .base = UINT64_MAX};
	uint32_t own = 0;
	struct elf_jit_names *names;
	int status;

	/* Once for the process alone, when nobody says it. */
	if (dump && !has_pid) {
		status = elf_symbols_jitdump(path, source, &none, NULL, &own);
		elf_symbol_list_free(&none);
		if (status == PTL_NO_MEMORY || !own)
			return status ? status : common_fail(PTL_CORRUPT, "%s: it names no process", path);
		pid = own;
		has_pid = true;
	} else if (!has_pid) {
		has_pid = pid_of_name(path, &pid);
	}
	names = need(has_pid ? pid : 0, !has_pid);
	if (!names)
		return common_fail_memory("names", sizeof(*names));
	return dump ? elf_symbols_jitdump(path, source, &names->symbols, &names->lines, NULL)
		    : elf_symbols_perf_map(path, source, &names->symbols);
}

int elf_jit_names_add(const char *argument)
{
	const char *equal = strchr(argument, '='), *slash = strchr(argument, '/');
	const bool has_pid = equal && (!slash || equal < slash);
	const char *path = has_pid ? equal + 1 : argument;
	struct elf_symbol_source source = {0};
	uint32_t pid = 0;
	int status;

	if (has_pid && !take_pid(argument, equal, &pid))
		return common_fail(PTL_MISUSE,
				   "'%s': expected PID=FILE, or FILE with ./ before it if its name has a '='",
				   argument);
	source.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (source.fd < 0)
		return common_fail_errno("%s", path);
	status = read_names(path, &source, has_pid, pid);
	close(source.fd);
	return status;
}
