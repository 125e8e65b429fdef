/* SPDX-License-Identifier: BSD-2-Clause */
/* The event that rules are being applied to. */
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/program_name.h"
#include "relog/rules/glob.h"
#include "relog/rules/run_state.h"

#define NAMES_MAX ((size_t)1 << 20) /* bytes of names of programs; those of further ones are copied for each event */

static int keep_value(void *context, const struct ptl_value *value)
{
	struct rules_current *now = context;

	if (now->value_count == now->value_room) {
		size_t room = now->value_room ? now->value_room * 2 : 32;
		struct ptl_value *values = realloc(now->values, room * sizeof(*values));

		if (!values)
			return common_fail_memory("fields", room * sizeof(*values));
		now->values = values;
		now->value_room = room;
	}
	now->values[now->value_count++] = *value;
	return 0;
}

int rules_current_decode(struct rules_run *run)
{
	struct rules_current *now = &run->now;
	int status;

	if (now->decoded)
		return 0;
	now->value_count = 0;
	now->rest = 0;
	now->decoded = true;
	now->found.depth = 0;
	if (!now->kind->schema)
		return 0;
	status = ptl_payload_decode(now->kind->schema, now->event.payload, now->event.payload_size, keep_value, now,
				    &now->rest);
	/* What the payload still has is there; the rest is not. */
	now->truncated = status < 0;
	return status == PTL_NO_MEMORY ? status : 0;
}

static uint32_t element_of(const struct rules_run *run, const struct rules_location *location, unsigned depth)
{
	return location->loop[depth] ? run->now.loops.at[location->loop[depth] - 1] : location->element[depth];
}

/* How far the last search serves this one: the levels that are the same, and at the next one a place that is before. */
static size_t start_of(const struct rules_run *run, const struct rules_location *location, unsigned *level)
{
	const struct rules_found *found = &run->now.found;

	for (*level = 0; *level < found->depth; ++*level) {
		uint32_t wanted = element_of(run, location, *level);

		if (found->field[*level] != location->chain[*level] || found->element[*level] > wanted)
			break;
		if (found->element[*level] < wanted || *level == location->depth)
			return found->at[*level];
	}
	return *level ? found->at[*level - 1] + 1 : 0;
}

static void remember(struct rules_found *found, const struct ptl_value *value, unsigned depth, size_t at)
{
	found->field[depth] = value->field;
	found->element[depth] = value->index;
	found->at[depth] = at;
	found->depth = depth + 1;
}

struct ptl_value *rules_current_find(struct rules_run *run, const struct rules_location *location)
{
	struct rules_current *now = &run->now;
	unsigned matched; /* levels of the chain that the walk is in */

	for (size_t i = start_of(run, location, &matched); i < now->value_count; i++) {
		struct ptl_value *value = &now->values[i];
		unsigned depth = value->depth;

		if (depth > matched)
			continue;
		matched = depth;
		if (value->field != location->chain[depth])
			continue;
		if (!location->whole || depth < location->depth) {
			remember(&now->found, value, depth, i);
			if (value->index != element_of(run, location, depth))
				continue;
		}
		if (depth == location->depth)
			return value;
		matched = depth + 1;
	}
	return NULL;
}

uint32_t rules_current_elements(struct rules_run *run, const struct rules_location *location)
{
	const struct rules_current *now = &run->now;
	const struct ptl_value *first = rules_current_find(run, location);
	uint32_t count = first ? 1 : 0;

	for (size_t i = first ? (size_t)(first - now->values) + 1 : 0; first && i < now->value_count; i++) {
		const struct ptl_value *value = &now->values[i];

		if (value->depth < location->depth || (value->depth == location->depth && value->field != first->field))
			break;
		count += value->depth == location->depth;
	}
	return count;
}

void rules_current_changed(struct rules_run *run)
{
	run->now.changed = true;
	run->now.decoded = false;
	run->now.program = NULL;
}

int rules_current_own(struct rules_run *run, uint8_t **payload)
{
	struct rules_current *now = &run->now;

	if (!now->own_payload) {
		char *copy = rules_copy(&run->scratch, now->event.payload, now->event.payload_size);

		if (!copy)
			return PTL_NO_MEMORY;
		now->event.payload = (const uint8_t *)copy;
		now->own_payload = true;
	}
	*payload = (uint8_t *)(uintptr_t)now->event.payload;
	return 0;
}

/* ---- fields for expressions -------------------------------------------------------------- */

static bool is_signed(uint8_t type)
{
	return type == PTL_TYPE_I8 || type == PTL_TYPE_I16 || type == PTL_TYPE_I32 || type == PTL_TYPE_I64 ||
	       type == PTL_TYPE_WALL_TIME;
}

/* A number at its fixed place; false where it takes the long way. */
static bool quick_number(const struct rules_run *run, const struct rules_location *location, rules_number *number)
{
	static const uint8_t sizes[PTL_TYPE_STRUCT + 1] = {
		[PTL_TYPE_U8] = 1,   [PTL_TYPE_I8] = 1,        [PTL_TYPE_U16] = 2,     [PTL_TYPE_I16] = 2,
		[PTL_TYPE_U32] = 4,  [PTL_TYPE_I32] = 4,       [PTL_TYPE_U64] = 8,     [PTL_TYPE_I64] = 8,
		[PTL_TYPE_TIME] = 8, [PTL_TYPE_WALL_TIME] = 8, [PTL_TYPE_POINTER] = 8,
	};
	unsigned size = location->fixed ? sizes[location->field->type] : 0;
	uint64_t bits;

	if (!size || run->now.event.payload_size < location->offset + size)
		return false;
	bits = common_load_le(run->now.event.payload + location->offset, size);
	*number = bits;
	if (is_signed(location->field->type))
		*number = (int64_t)(bits << (64 - 8 * size)) >> (64 - 8 * size);
	return true;
}

static bool field_number(void *context, unsigned index, rules_number *number)
{
	const struct rules_run *run = context;
	const struct rules_location *location = &run->now.bound->fields[index];

	return location->field && quick_number(run, location, number);
}

static int field_value(void *context, unsigned index, struct rules_value *value)
{
	struct rules_run *run = context;
	const struct rules_location *location = &run->now.bound->fields[index];
	const struct ptl_value *found;
	int status;

	*value = (struct rules_value){0};
	if (!location->field)
		return 0;
	if (quick_number(run, location, &value->number)) {
		value->kind = RULES_VALUE_NUMBER;
		return 0;
	}
	status = rules_current_decode(run);
	if (status < 0)
		return status;
	found = rules_current_find(run, location);
	if (!found)
		return 0;
	if (location->whole || location->field->type == PTL_TYPE_STRUCT) {
		/* Only has() comes here: it asks whether anything is there. */
		*value = (struct rules_value){.kind = RULES_VALUE_BOOL, .truth = true};
		return 0;
	}
	return rules_value_of_field(found, &run->scratch, value);
}

static int elements(void *context, unsigned index, uint32_t *count, bool *there)
{
	struct rules_run *run = context;
	const struct rules_location *location = &run->now.bound->fields[index];
	int status = rules_current_decode(run);

	*count = 0;
	*there = location->field && location->whole;
	if (status < 0 || !*there)
		return status;
	*count = rules_current_elements(run, location);
	return 0;
}

static const char *program_for_scope(void *context)
{
	return rules_current_program(context);
}

struct rules_scope_of rules_current_scope(struct rules_run *run)
{
	return (struct rules_scope_of){
		.rules = run->rules,
		.files = &run->files,
		.scratch = &run->scratch,
		.event = &run->now.event,
		.pid = run->now.pid,
		.program = run->needs_state ? program_for_scope : NULL,
		.field = field_value,
		.number = field_number,
		.elements = elements,
		.loops = &run->now.loops,
		.context = run,
	};
}

/* ---- the process ------------------------------------------------------------------------- */

/* The run's own copy of a name, the same for the same name: the state's texts live until it learns of another event. */
static const char *keep_name(struct rules_run *run, const char *text, size_t size)
{
	const uint64_t *known = common_byte_map_get(&run->name_map, text, size);
	const char *copy;

	if (known)
		return (const char *)(uintptr_t)*known;
	if (size >= NAMES_MAX - run->name_bytes)
		return NULL;
	copy = rules_copy(&run->names, text, size);
	if (!copy || common_byte_map_put(&run->name_map, text, size, (uint64_t)(uintptr_t)copy))
		return NULL;
	run->name_bytes += size + 1;
	return copy;
}

/* A program is known by its path and, behind the zero byte of that, by the word that it was started by. */
static const char no_program[] = "\0";

static void write_names(struct ptl_bytes *out, const char *path, const char *command_line)
{
	common_write_bytes(out, path, strlen(path) + 1);
	common_first_word(out, command_line);
}

/* In the memory of the event at hand; NULL without memory. */
static const char *copy_names(struct rules_run *run, const char *path, const char *command_line)
{
	struct ptl_bytes names = {0};
	const char *copy = NULL;

	write_names(&names, path, command_line);
	if (!names.failed)
		copy = rules_copy(&run->scratch, (const char *)names.data, names.size);
	common_bytes_free(&names);
	return copy;
}

/* What a process runs, where that is a name that is kept; NULL: it is not, or would be one too many. */
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

/* A process event tells itself; a process that was forked runs what its parent does. */
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
		[RULES_CLASS_THREAD] = 0,
		[RULES_CLASS_IMAGE] = 16,
		[RULES_CLASS_CODE] = 0,
	};
	enum rules_class class = run->now.kind->class;

	if (class == RULES_CLASS_OTHER || event->payload_size < offsets[class] + 4u)
		return event->pid;
	return common_load32(event->payload + offsets[class]);
}

const char *rules_current_program(struct rules_run *run)
{
	struct rules_current *now = &run->now;

	if (now->program)
		return now->program;
	now->pid = now->event.pid;
	if (now->kind->class == RULES_CLASS_PROCESS) {
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

	return rules_glob_path(pattern, path) || (*word && rules_glob_path(pattern, word));
}
