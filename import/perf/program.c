/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the program of a process among its mappings. */
#include "import/perf/program.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/text/text.h"
#include "import/perf/mapping.h"
#include "perf/fields.h"

#define NAME_MAX_LENGTH 15u /* bytes of a thread name in the kernel */
#define PROGRAMS_MAX (1u << 22)

struct perf_program {
	char name[NAME_MAX_LENGTH + 1]; /* "": not reported yet */
	const char *path;
	enum perf_program_rank rank;
};

static bool begins_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

static bool is_file(const char *path)
{
	static const char *const others[] = {"//", "/dev/", "/memfd:", "/SYSV", "/[", "/anon_hugepage"};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (begins_with(path, others[i]))
			return false;
	return path[0] == '/';
}

static bool is_library(const char *name)
{
	const char *so = strstr(name, ".so");

	return so && (so[3] == 0 || so[3] == '.');
}

enum perf_program_rank perf_program_rank(const char *name, const char *path)
{
	const char *file = common_base_name(path);
	const size_t length = strlen(name);

	if (!is_file(path))
		return PERF_PROGRAM_NONE;
	if (length && !strcmp(file, name))
		return PERF_PROGRAM_EXACT;
	if (length && begins_with(file, name) && (length == NAME_MAX_LENGTH || !isalpha((unsigned char)file[length])))
		return PERF_PROGRAM_NAMED;
	return is_library(file) ? PERF_PROGRAM_LIBRARY : PERF_PROGRAM_FILE;
}

static int find_or_add(struct perf_programs *programs, uint32_t pid, struct perf_program **program)
{
	const uint64_t *known = common_hash_map_get(&programs->list, pid);

	if (known) {
		*program = (struct perf_program *)(uintptr_t)*known;
		return 0;
	}
	if (programs->list.used >= PROGRAMS_MAX)
		return common_fail(PTL_NO_MEMORY, "more than %u processes", PROGRAMS_MAX);
	*program = common_arena_zeroed(&programs->arena, sizeof(**program));
	if (!*program)
		return PTL_NO_MEMORY;
	(*program)->path = "";
	return common_hash_map_put(&programs->list, pid, (uint64_t)(uintptr_t)*program);
}

static int look_at_name(struct perf_programs *programs, const struct perf_fields *fields)
{
	const size_t length = fields->name_size < NAME_MAX_LENGTH ? fields->name_size : NAME_MAX_LENGTH;
	struct perf_program *program;
	int status;

	if (fields->pid != fields->tid)
		return 0;
	status = find_or_add(programs, fields->pid, &program);
	if (status)
		return status;
	memcpy(program->name, fields->name, length);
	program->name[length] = 0;
	return 0;
}

static int look_at_mapping(struct perf_programs *programs, const struct perf_mapping *mapping)
{
	struct perf_program *program;
	enum perf_program_rank rank;
	int status = find_or_add(programs, mapping->pid, &program);

	if (status)
		return status;
	rank = perf_program_rank(program->name, mapping->path);
	/* Libraries tell nothing about the program's name. */
	if (rank <= program->rank || rank < PERF_PROGRAM_FILE)
		return 0;
	program->rank = rank;
	program->path = common_arena_copy(&programs->arena, mapping->path, strlen(mapping->path));
	return program->path ? 0 : PTL_NO_MEMORY;
}

int perf_programs_look(struct perf_programs *programs, const struct perf_record *record, size_t body)
{
	struct perf_mapping mapping;
	struct perf_fields fields;

	if (record->type == PERF_RECORD_COMM &&
	    perf_fields_read(record->type, record->misc, record->body, body, &fields))
		return look_at_name(programs, &fields);
	if ((record->type == PERF_RECORD_MMAP || record->type == PERF_RECORD_MMAP2) &&
	    perf_mapping_parse(record, body, &mapping) && perf_mapping_is_code(&mapping) && !mapping.kernel)
		return look_at_mapping(programs, &mapping);
	return 0;
}

const char *perf_programs_find(const struct perf_programs *programs, uint32_t pid)
{
	const uint64_t *known = common_hash_map_get(&programs->list, pid);

	return known ? ((struct perf_program *)(uintptr_t)*known)->path : NULL;
}

void perf_programs_free(struct perf_programs *programs)
{
	common_hash_map_free(&programs->list);
	common_arena_free(&programs->arena);
}
