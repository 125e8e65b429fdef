/* SPDX-License-Identifier: BSD-2-Clause */
/* The event that rules are currently applied to. */
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/text/program_name.h"
#include "query/glob.h"
#include "relog/rules/run_state.h"

#define NAMES_MAX ((size_t)1 << 20) /* bytes of cached program names; further names are copied for each event */

int rules_current_decode(struct rules_run *run)
{
	struct rules_current *now = &run->now;

	return query_payload_decode(&now->payload, now->kind->schema, now->event.payload, now->event.payload_size);
}

void rules_current_changed(struct rules_run *run)
{
	run->now.changed = true;
	run->now.payload.decoded = false;
	run->now.program = NULL;
}

int rules_current_own(struct rules_run *run, uint8_t **payload)
{
	struct rules_current *now = &run->now;

	if (!now->own_payload) {
		char *copy = common_arena_copy(&run->scratch, now->event.payload, now->event.payload_size);

		if (!copy)
			return PTL_NO_MEMORY;
		now->event.payload = (const uint8_t *)copy;
		now->own_payload = true;
	}
	*payload = (uint8_t *)(uintptr_t)now->event.payload;
	return 0;
}

/* ---- fields for expressions -------------------------------------------------------------- */

static bool field_number(void *context, unsigned index, query_number *number)
{
	const struct rules_run *run = context;
	const struct query_location *location = &run->now.bound->fields[index];

	return location->field &&
	       query_payload_number(location, run->now.event.payload, run->now.event.payload_size, number);
}

static int field_value(void *context, unsigned index, struct query_value *value)
{
	struct rules_run *run = context;
	const struct query_location *location = &run->now.bound->fields[index];
	int status;

	*value = (struct query_value){0};
	if (!location->field)
		return 0;
	if (query_payload_number(location, run->now.event.payload, run->now.event.payload_size, &value->number)) {
		value->kind = QUERY_VALUE_NUMBER;
		return 0;
	}
	status = rules_current_decode(run);
	if (status < 0)
		return status;
	return query_payload_value(&run->now.payload, location, &run->now.loops, &run->scratch, value);
}

static int elements(void *context, unsigned index, uint32_t *count, bool *there)
{
	struct rules_run *run = context;
	const struct query_location *location = &run->now.bound->fields[index];
	int status = rules_current_decode(run);

	*count = 0;
	*there = location->field && location->whole;
	if (status < 0 || !*there)
		return status;
	*count = query_payload_elements(&run->now.payload, location, &run->now.loops);
	return 0;
}

/* Returns the value map of a field, or NULL. */
static const struct ptl_map *value_map(void *context, unsigned index)
{
	const struct rules_run *run = context;
	const struct ptl_field *field = run->now.bound->fields[index].field;

	return field && field->map ? ptl_map_of_field(run->now.kind->trace, &run->now.kind->descriptor.provider, field)
				   : NULL;
}

static const char *program_for_scope(void *context)
{
	return rules_current_program(context);
}

struct query_scope rules_current_scope(struct rules_run *run)
{
	return (struct query_scope){
		.name = run->rules->name,
		.files = &run->files,
		.scratch = &run->scratch,
		.event = &run->now.event,
		.pid = run->now.pid,
		.program = run->needs_state ? program_for_scope : NULL,
		.field = field_value,
		.number = field_number,
		.elements = elements,
		.map = value_map,
		.loops = &run->now.loops,
		.context = run,
	};
}

/* ---- the process ------------------------------------------------------------------------- */

/*
 * Returns the run's own copy of a name; equal names share a copy. Texts of the state are valid only until the next
 * event.
 */
static const char *keep_name(struct rules_run *run, const char *text, size_t size)
{
	const uint64_t *known = common_byte_map_get(&run->name_map, text, size);
	const char *copy;

	if (known)
		return (const char *)(uintptr_t)*known;
	if (size >= NAMES_MAX - run->name_bytes)
		return NULL;
	copy = common_arena_copy(&run->names, text, size);
	if (!copy || common_byte_map_put(&run->name_map, text, size, (uint64_t)(uintptr_t)copy))
		return NULL;
	run->name_bytes += size + 1;
	return copy;
}

/*
 * A program has two names, stored one after the other with a zero byte each: its path, and the first word of its
 * command line.
 */
static const char no_program[] = "\0";

static void write_names(struct ptl_bytes *out, const char *path, const char *command_line)
{
	common_write_bytes(out, path, strlen(path) + 1);
	common_first_word(out, command_line);
}

/* Copies the names of a program to the memory of the current event. NULL: no memory. */
static const char *copy_names(struct rules_run *run, const char *path, const char *command_line)
{
	struct ptl_bytes names = {0};
	const char *copy = NULL;

	write_names(&names, path, command_line);
	if (!names.failed)
		copy = common_arena_copy(&run->scratch, (const char *)names.data, names.size);
	common_bytes_free(&names);
	return copy;
}

/* Returns the cached names of the process's program. NULL: no memory, or the cache is full. */
static const char *kept_program_of(struct rules_run *run, uint32_t pid)
{
	struct rules_program *known = &run->programs[pid % RULES_PROGRAMS];
	struct ptl_state_process process;
	struct ptl_bytes names = {0};

	if (known->text && known->pid == pid && known->folded == run->folded)
		return known->text;
	*known = (struct rules_program){pid, run->folded, no_program};
	if (ptl_state_find_process(run->state, pid, &process)) {
		write_names(&names, process.program, process.command_line);
		known->text = names.failed ? NULL : keep_name(run, (const char *)names.data, names.size);
		common_bytes_free(&names);
	}
	return known->text;
}

static const char *program_of(struct rules_run *run, uint32_t pid)
{
	struct ptl_state_process process;
	const char *program = kept_program_of(run, pid);

	if (program || !ptl_state_find_process(run->state, pid, &process))
		return program ? program : no_program;
	return copy_names(run, process.program, process.command_line);
}

/*
 * Returns the program that a process event names. A process event without a name: a forked process runs its parent's
 * program.
 */
static const char *program_of_process(struct rules_run *run)
{
	struct ptl_process_event data;
	struct ptl_bytes storage = {0};
	const char *program = no_program;

	if (!ptl_process_decode(&run->now.event, &storage, &data)) {
		run->now.pid = data.process_id;
		if (data.image_file_name[0])
			program = copy_names(run, data.image_file_name, data.command_line);
		else
			program = program_of(run, run->now.event.descriptor.opcode == PTL_OPCODE_START
							  ? data.parent_id
							  : data.process_id);
	}
	common_bytes_free(&storage);
	return program;
}

static uint32_t pid_of(const struct rules_run *run)
{
	const struct ptl_event *event = &run->now.event;
	static const uint8_t offsets[] = {
		[FORMAT_CLASS_THREAD] = 0,
		[FORMAT_CLASS_IMAGE] = 16,
		[FORMAT_CLASS_CODE] = 0,
		[FORMAT_CLASS_SIGNAL] = 0,
	};
	enum format_class class = run->now.kind->class;

	if (class == FORMAT_CLASS_NONE || event->payload_size < offsets[class] + 4u)
		return event->pid;
	return common_load32(event->payload + offsets[class]);
}

const char *rules_current_program(struct rules_run *run)
{
	struct rules_current *now = &run->now;

	if (now->program)
		return now->program;
	now->pid = now->event.pid;
	if (now->kind->class == FORMAT_CLASS_PROCESS) {
		now->program = program_of_process(run);
	} else {
		now->pid = pid_of(run);
		now->program = program_of(run, now->pid);
	}
	if (!now->program)
		now->program = no_program;
	return now->program;
}

bool rules_current_ran(struct rules_run *run, const char *pattern)
{
	const char *path = rules_current_program(run), *word = path + strlen(path) + 1;

	return query_glob_path(pattern, path) || (*word && query_glob_path(pattern, word));
}
