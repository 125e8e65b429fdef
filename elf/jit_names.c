/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of run-time generated code, by process. */
#include "elf/jit_names.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/text/text.h"
#include "common/vector.h"

#define NAMES_MAX ((size_t)256 << 20)

/* Names from files given by the user. */
static struct elf_jit_set given;

void elf_jit_set_free(struct elf_jit_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		elf_made_list_free(&set->list[i]->made);
		free(set->list[i]->files);
		free(set->list[i]);
	}
	free(set->list);
	*set = (struct elf_jit_set){0};
}

void elf_jit_names_free(void)
{
	elf_jit_set_free(&given);
}

const struct elf_jit_names *elf_jit_set_find(const struct elf_jit_set *set, uint32_t pid)
{
	const struct elf_jit_names *of_any = NULL;

	for (size_t i = 0; i < set->count; i++) {
		if (set->list[i]->any)
			of_any = set->list[i];
		else if (set->list[i]->pid == pid)
			return set->list[i];
	}
	return of_any;
}

const struct elf_jit_set *elf_jit_names_given(void)
{
	return &given;
}

/* Returns the process's names, possibly new and empty; NULL without memory. */
static struct elf_jit_names *need(struct elf_jit_set *set, uint32_t pid, bool any)
{
	struct elf_jit_names *names;

	for (size_t i = 0; i < set->count; i++)
		if (set->list[i]->any == any && set->list[i]->pid == pid)
			return set->list[i];
	if (!common_vector_room(&set->list, set->count, sizeof(*set->list)))
		return NULL;
	names = calloc(1, sizeof(*names));
	if (!names)
		return NULL;
	names->pid = pid;
	names->any = any;
	names->made.symbols.limit = NAMES_MAX;
	set->list[set->count++] = names;
	return names;
}

static int add_names(struct elf_jit_set *set, const char *name, const struct elf_symbol_source *source, uint32_t pid,
		     bool any)
{
	struct elf_jit_names *names = need(set, pid, any);
	const bool jitdump = elf_is_jitdump(source);

	if (!names)
		return common_fail_memory("names", sizeof(*names));
	if (COMMON_VECTOR_RESERVE(names->files, names->file_capacity, names->file_count + 1, "files of compilers"))
		return PTL_NO_MEMORY;
	names->files[names->file_count++] = (struct elf_jit_file){names->made.symbols.count, jitdump};
	return jitdump ? elf_jitdump_read(name, source, &names->made, NULL)
		       : elf_perf_map_read(name, source, &names->made);
}

int elf_jit_set_add(struct elf_jit_set *set, const char *name, const struct elf_symbol_source *source, uint32_t pid)
{
	return add_names(set, name, source, pid, false);
}

/* Parses a decimal number that ends at `end`. */
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

/* Parses a file name such as "perf-4711.map". */
static bool pid_of_name(const char *path, uint32_t *pid)
{
	const char *name = common_base_name(path), *end = strstr(name, ".map");

	return !strncmp(name, "perf-", 5) && end && !end[4] && take_pid(name + 5, end, pid);
}

static int read_names(const char *path, const struct elf_symbol_source *source, bool has_pid, uint32_t pid)
{
	const bool dump = elf_is_jitdump(source);
	struct elf_made_list none = {.symbols = {.size = 1, .base = UINT64_MAX}};
	uint32_t own = 0;
	int status;

	/* A first pass only finds the process; its list wants no symbols. */
	if (dump && !has_pid) {
		status = elf_jitdump_read(path, source, &none, &own);
		elf_made_list_free(&none);
		if (status == PTL_NO_MEMORY || !own)
			return status ? status : common_fail(PTL_CORRUPT, "%s: it names no process", path);
		pid = own;
		has_pid = true;
	} else if (!has_pid) {
		has_pid = pid_of_name(path, &pid);
	}
	return add_names(&given, path, source, has_pid ? pid : 0, !has_pid);
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
