/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/value/values.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/program/message.h"
#include "common/text/guid.h"
#include "common/text/text.h"
#include "common/vector.h"
#include "elf/dwarf_text.h"
#include "record/value/function.h"
#include "record/value/provider.h"
#include "record/value/spec.h"
#include "record/value/values_state.h"

#define MAP_ENTRIES_MAX 4096u /* names of an enumeration */

/* The file whose functions become plans. */
struct planning {
	struct record_values *values;
	struct value_wanted *wanted;
	const char *path;
	uint64_t device, inode;
};

int record_values_new(const struct common_string_list *texts, struct record_capture *capture,
		      struct channel_values *shared, struct record_values **values)
{
	struct record_values *made = calloc(1, sizeof(*made));
	int status = 0;

	if (!made)
		return common_fail_memory("--values", sizeof(*made));
	made->capture = capture;
	made->shared = shared;
	made->next_id = 1;
	made->streams.capture = capture;
	made->wanted = calloc(texts->count, sizeof(*made->wanted));
	if (!made->wanted)
		status = common_fail_memory("--values", texts->count * sizeof(*made->wanted));
	for (size_t i = 0; status == 0 && i < texts->count; i++) {
		status = value_spec_parse(texts->list[i], &made->wanted[i].spec);
		made->wanted_count += status == 0;
	}
	if (status == 0)
		status = ptl_guid_from_name(VALUE_PROVIDER, &made->provider);
	if (status < 0) {
		record_values_free(made);
		return status;
	}
	*values = made;
	return 0;
}

void record_values_free(struct record_values *values)
{
	if (!values)
		return;
	for (size_t i = 0; i < values->wanted_count; i++)
		value_spec_free(&values->wanted[i].spec);
	for (uint32_t i = 0; i < values->plan_count; i++)
		value_event_free(&values->events[i]);
	for (size_t i = 0; i < values->file_count; i++)
		free(values->files[i].path);
	common_bytes_free(&values->payload);
	free(values->wanted);
	free(values->files);
	free(values);
}

/* ---- plans ----------------------------------------------------------------------------------- */

void record_values_note(struct record_values *values, const char *function, const char *path, const char *why)
{
	if (values->notes++ < VALUE_NOTES_MAX)
		common_message_warning("--values: %s in %s: %s", function, path, why);
}

/* Returns whether the steps may read memory that the function's caller has not provided. */
static bool may_fault(const struct value_steps *steps)
{
	for (unsigned i = 0; i < steps->count; i++)
		if (steps->list[i].op == CHANNEL_VALUE_LOAD &&
		    (!i || steps->list[i - 1].op != CHANNEL_VALUE_REGISTER ||
		     (steps->list[i - 1].index != 4 && steps->list[i - 1].index != 5)))
			return true;
	return false;
}

/* Copies steps into the arena. image: address minus offset in the file. */
static void put_steps(struct record_values *values, const struct value_steps *steps, uint64_t image)
{
	for (unsigned i = 0; i < steps->count; i++) {
		struct channel_value_step *step = &values->shared->steps[values->step_count++];

		*step = steps->list[i];
		if (step->op == CHANNEL_VALUE_IMAGE)
			step->operand = (int64_t)((uint64_t)step->operand - image);
	}
}

/* Reads the number of an enumerator. GCC and LLVM write negative numbers as DW_FORM_sdata only. */
static bool read_enumerator(Dwarf_Die *die, uint64_t *number)
{
	Dwarf_Attribute attribute;
	Dwarf_Sword with_sign;
	Dwarf_Word plain;

	if (!dwarf_attr(die, DW_AT_const_value, &attribute))
		return false;
	if (dwarf_whatform(&attribute) == DW_FORM_sdata || dwarf_whatform(&attribute) == DW_FORM_implicit_const) {
		if (dwarf_formsdata(&attribute, &with_sign) != 0)
			return false;
		*number = (uint64_t)with_sign;
		return true;
	}
	if (dwarf_formudata(&attribute, &plain) != 0)
		return false;
	*number = plain;
	return true;
}

/* Adds the names of an enumeration. *name: name of the map, for the caller to free; NULL: no names. */
static int add_map(struct record_values *values, Dwarf_Die *type, char **name)
{
	struct ptl_map_entry *entries = calloc(MAP_ENTRIES_MAX, sizeof(*entries));
	struct ptl_map map = {.provider = values->provider, .kind = PTL_MAP_VALUES, .entries = entries};
	const char *own = elf_dwarf_name(type);
	Dwarf_Die child;
	int status = 0;

	*name = NULL;
	if (!entries)
		return common_fail_memory("names of an enumeration", MAP_ENTRIES_MAX * sizeof(*entries));
	for (int found = dwarf_child(type, &child); found == 0 && map.count < MAP_ENTRIES_MAX;
	     found = dwarf_siblingof(&child, &child)) {
		uint64_t number;

		if (dwarf_tag(&child) == DW_TAG_enumerator && elf_dwarf_name(&child) &&
		    read_enumerator(&child, &number))
			entries[map.count++] = (struct ptl_map_entry){number, elf_dwarf_name(&child)};
	}
	/* Different enumerations may have one name, or none. */
	if (map.count && asprintf(name, "%s_%u_%llx", own ? own : "enum", values->plan_count,
				  (unsigned long long)dwarf_dieoffset(type)) < 0)
		*name = NULL;
	map.name = *name;
	if (map.name)
		status = record_capture_map(values->capture, &map);
	free(entries);
	return status;
}

static int describe_field(struct record_values *values, struct value_field *field, struct value_event_field *event)
{
	*event = (struct value_event_field){
		.name = strdup(field->name),
		.kind = field->kind,
		.type = field->type,
		.format = field->format,
		.size = field->size,
	};
	memcpy(event->why, field->why, sizeof(event->why));
	if (!event->name)
		return common_fail_memory("a field", strlen(field->name));
	return field->has_map && field->kind == CHANNEL_VALUE_NUMBER ? add_map(values, &field->map, &event->map) : 0;
}

static int describe_event(struct planning *planning, struct value_fields *fields, bool returns)
{
	struct record_values *values = planning->values;
	struct value_event *event = &values->events[values->plan_count];
	int status = 0;

	*event = (struct value_event){.fields = calloc(fields->count, sizeof(*event->fields))};
	if (asprintf(&event->name, "%s%s", planning->wanted->spec.function, returns ? "/return" : "") < 0)
		event->name = NULL;
	if (!event->fields || !event->name)
		status = common_fail_memory("--values", fields->count * sizeof(*event->fields));
	for (size_t i = 0; status == 0 && i < fields->count; i++, event->field_count++)
		status = describe_field(values, &fields->list[i], &event->fields[i]);
	if (status < 0)
		value_event_free(event);
	return status;
}

/* Returns whether the arena has room for a plan of these fields. */
static bool has_room(const struct record_values *values, const struct value_fields *fields)
{
	size_t steps = values->step_count;

	for (size_t i = 0; i < fields->count; i++)
		steps += fields->list[i].steps.count + fields->list[i].length.count;
	return values->plan_count < CHANNEL_VALUE_PLANS_MAX && steps <= CHANNEL_VALUE_STEPS_MAX &&
	       values->field_count + fields->count <= CHANNEL_VALUE_FIELDS_MAX;
}

static void put_fields(struct record_values *values, const struct value_fields *fields, uint64_t image,
		       struct channel_value_plan *plan)
{
	plan->first_field = values->field_count;
	plan->field_count = (uint32_t)fields->count;
	for (size_t i = 0; i < fields->count; i++) {
		const struct value_field *field = &fields->list[i];

		values->shared->fields[values->field_count++] = (struct channel_value_field){
			.kind = field->kind,
			.size = field->size,
			.step_count = (uint8_t)field->steps.count,
			.length_count = (uint8_t)field->length.count,
			.first_step = values->step_count,
		};
		put_steps(values, &field->steps, image);
		put_steps(values, &field->length, image);
		plan->faults |= may_fault(&field->steps) || may_fault(&field->length) ||
				field->kind == CHANNEL_VALUE_STRING || field->kind == CHANNEL_VALUE_COUNTED;
	}
}

static int add_plan(struct planning *planning, struct value_fields *fields, const struct channel_value_plan *like,
		    uint64_t image)
{
	struct record_values *values = planning->values;
	struct channel_value_plan plan = *like;
	int status;

	if (!fields->count)
		return 0;
	if (!has_room(values, fields)) {
		record_values_note(values, planning->wanted->spec.function, planning->path,
				   "too many values for one recording");
		return 0;
	}
	if (fields->left_out)
		record_values_note(values, planning->wanted->spec.function, planning->path,
				   "values beyond 64 of a function, or 32 members of a structure, are left out");
	status = describe_event(planning, fields, plan.place == CHANNEL_VALUE_AT_RETURN);
	if (status < 0)
		return status;
	put_fields(values, fields, image, &plan);
	values->shared->plans[values->plan_count++] = plan;
	values->shared->field_count = values->field_count;
	values->shared->step_count = values->step_count;
	__atomic_store_n(&values->shared->plan_count, values->plan_count, __ATOMIC_RELEASE);
	return 0;
}

/* Returns whether the function has a plan: several specifications may name a function. */
static bool is_planned(const struct record_values *values, const struct channel_value_plan *plan)
{
	for (uint32_t i = 0; i < values->plan_count; i++) {
		const struct channel_value_plan *known = &values->shared->plans[i];

		if (known->device == plan->device && known->inode == plan->inode && known->entry == plan->entry)
			return true;
	}
	return false;
}

/* Notes why values that the user named are not read. */
static void note_absent(const struct planning *planning, const struct value_fields *fields)
{
	const struct value_spec *spec = &planning->wanted->spec;

	for (size_t i = 0; !spec->all && i < fields->count; i++) {
		const struct value_field *field = &fields->list[i];
		struct ptl_bytes name = {0}, why = {0};

		if (field->kind != CHANNEL_VALUE_NOTHING)
			continue;
		common_text_safe(&name, field->name);
		common_text_format(&name, " of %s", spec->function);
		/* The value of the event has the reason in angle brackets. */
		common_text_format(&why, "%.*s", (int)strcspn(field->why + 1, ">"), field->why + 1);
		record_values_note(planning->values, common_text_string(&name), planning->path,
				   common_text_string(&why));
		common_bytes_free(&name);
		common_bytes_free(&why);
	}
}

static int take_function(void *context, const struct value_file *file, struct value_function *function)
{
	struct planning *planning = context;
	struct channel_value_plan plan = {.device = planning->device, .inode = planning->inode};
	uint64_t image;
	int status;

	if (!elf_offset(file->elf, function->entry, &plan.entry))
		return 0;
	image = function->entry - plan.entry;
	plan.offset = function->pc - image;
	plan.place = function->pc == function->entry ? CHANNEL_VALUE_AT_ENTRY : CHANNEL_VALUE_AT_BODY;
	for (uint32_t i = 0; i < function->range_count; i++) {
		plan.ranges[i][0] = function->ranges[i][0] - image;
		plan.ranges[i][1] = function->ranges[i][1] - image;
	}
	plan.range_count = function->range_count;
	planning->wanted->functions++;
	if (is_planned(planning->values, &plan)) {
		record_values_note(planning->values, planning->wanted->spec.function, planning->path,
				   "an earlier --values names this function, and its values are read");
		return 0;
	}
	if (function->inlined)
		record_values_note(planning->values, planning->wanted->spec.function, planning->path,
				   "callers may contain copies of the function (inlining), whose values are not read");
	note_absent(planning, &function->fields);
	note_absent(planning, &function->results);
	status = add_plan(planning, &function->fields, &plan, image);
	plan.place = CHANNEL_VALUE_AT_RETURN;
	return status < 0 ? status : add_plan(planning, &function->results, &plan, image);
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool is_known(const struct record_values *values, uint64_t device, uint64_t inode)
{
	for (size_t i = 0; i < values->file_count; i++)
		if (values->files[i].device == device && values->files[i].inode == inode)
			return true;
	return false;
}

/* Returns whether the file may have a wanted function. */
static bool is_wanted(const struct record_values *values, const char *path)
{
	for (size_t i = 0; i < values->wanted_count; i++)
		if (value_spec_is_in(&values->wanted[i].spec, path))
			return true;
	return false;
}

static int plan_file(struct planning *planning, const struct value_file *file)
{
	struct record_values *values = planning->values;
	int status = 0;

	for (size_t i = 0; status == 0 && i < values->wanted_count; i++) {
		struct value_wanted *wanted = &values->wanted[i];
		char why[256];
		size_t count;

		if (!value_spec_is_in(&wanted->spec, planning->path))
			continue;
		planning->wanted = wanted;
		status = value_function_find(file, &wanted->spec, take_function, planning, &count, why);
		if (count && why[0]) {
			record_values_note(values, wanted->spec.function, planning->path, why);
			wanted->noted = true;
		}
	}
	return status;
}

int record_values_image(struct record_values *values, const char *path, uint64_t device, uint64_t inode)
{
	struct planning planning = {.values = values, .path = path, .device = device, .inode = inode};
	struct value_file file;
	int status;

	if (is_known(values, device, inode) || !is_wanted(values, path))
		return 0;
	if (COMMON_VECTOR_RESERVE(values->files, values->file_capacity, values->file_count + 1, "files of --values"))
		return PTL_NO_MEMORY;
	values->files[values->file_count] = (struct value_known_file){device, inode, strdup(path)};
	if (!values->files[values->file_count].path)
		return common_fail_memory("files of --values", strlen(path));
	values->file_count++;
	/* A file that cannot be read has no values. */
	if (value_file_open(path, device, inode, &file) < 0)
		return 0;
	status = plan_file(&planning, &file);
	value_file_close(&file);
	return status;
}

/* ---- events ---------------------------------------------------------------------------------- */

int record_values_take(struct record_values *values, const struct channel_message_values *message)
{
	struct ptl_event event = {
		.descriptor = {.provider = values->provider, .level = PTL_LEVEL_INFORMATIONAL},
		.time = message->header.time,
		.cpu = PTL_NO_CPU,
		.pid = message->header.pid,
		.tid = message->header.tid,
	};
	bool valid = false;
	int status = 0;

	if (message->plan < values->plan_count)
		status = value_event_make(&values->events[message->plan], values->capture, &values->provider, message,
					  (const uint8_t *)(message + 1), &values->next_id, &values->payload,
					  &event.descriptor.id, &valid);
	if (status < 0)
		return status;
	values->invalid += !valid;
	event.payload = values->payload.data;
	event.payload_size = values->payload.size;
	return valid ? record_ordered_streams_write(&values->streams, &event, true) : 0;
}

/* ---- the end --------------------------------------------------------------------------------- */

bool record_values_finish(const struct record_values *values)
{
	bool all = true;

	for (size_t i = 0; i < values->wanted_count; i++) {
		const struct value_wanted *wanted = &values->wanted[i];
		struct ptl_bytes cause = {0};

		if (wanted->functions || wanted->noted)
			continue;
		all = false;
		value_cause(&wanted->spec, values->files, values->file_count, &cause);
		common_message_warning("--values '%s': %s", wanted->spec.text, common_text_string(&cause));
		common_bytes_free(&cause);
	}
	return all;
}

int record_values_losses(const struct record_values *values)
{
	const struct ptl_loss loss = {
		.kind = PTL_LOSS_EVENTS,
		.stream = PTL_NO_ID,
		.pid = PTL_NO_ID,
		.tid = PTL_NO_ID,
		.count = values->invalid,
		.cause = "values that fit no function of --values: the program overwrote memory it shares with the "
			 "recorder",
	};

	return loss.count ? record_capture_loss(values->capture, &loss) : 0;
}
