/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/value/probe.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/program/message.h"
#include "common/text/text.h"
#include "record/value/exit.h"
#include "record/value/fetch.h"
#include "record/value/values_state.h"

#define NO_STEPS UINT32_MAX

/* A place of a probe. */
struct probe_place {
	uint64_t offset;
	uint8_t kind; /* enum value_exit_kind; VALUE_EXIT_RETURN at the entry, too */
	uint8_t condition;
	uint32_t first_step, step_count; /* target of an indirect jump */
};

struct value_probe {
	uint32_t plan;
	struct probe_place places[VALUE_EXITS_MAX];
	size_t place_count;
	struct value_fetch fetch;
	uint8_t texts[CHANNEL_VALUE_PLAN_FIELDS_MAX]; /* by field: index of the text's argument */
	int flags, place;                             /* indexes of the arguments; flags -1: not fetched */
	uint32_t place_offset;                        /* in samples */
};

struct value_probes {
	struct record_values *values;
	struct channel_values *shared;
	struct value_fetch_link links[CHANNEL_VALUE_STEPS_MAX]; /* by step of `shared` */
	struct value_probe *list[CHANNEL_VALUE_PLANS_MAX];      /* by number; owned */
	unsigned count;
	uint8_t payload[CHANNEL_VALUE_PLAN_FIELDS_MAX * (CHANNEL_VALUE_STRING_MAX + 2)];
};

int value_probes_new(const struct common_string_list *texts, struct record_capture *capture,
		     struct value_probes **probes)
{
	struct value_probes *made = calloc(1, sizeof(*made));
	int status;

	if (made)
		made->shared = calloc(1, sizeof(*made->shared));
	if (!made || !made->shared) {
		free(made);
		return common_fail_memory("--values", sizeof(*made));
	}
	status = record_values_new(texts, capture, made->shared, &made->values);
	if (status < 0)
		value_probes_free(made);
	else
		*probes = made;
	return status;
}

void value_probes_free(struct value_probes *probes)
{
	if (!probes)
		return;
	for (unsigned i = 0; i < probes->count; i++)
		free(probes->list[i]);
	record_values_free(probes->values);
	free(probes->shared);
	free(probes);
}

const char *value_probes_path(const struct value_probes *probes, size_t index, bool *more)
{
	const struct record_values *values = probes->values;
	const char *file = index < values->wanted_count ? values->wanted[index].spec.file : NULL;

	*more = index < values->wanted_count;
	return file && strchr(file, '/') ? file : NULL;
}

void value_probes_finish(const struct value_probes *probes)
{
	if (!record_values_finish(probes->values))
		common_message_hint(
			"--values '/PATH:FUNCTION' for a library, or for a program that the command starts: "
			"natively, all probes are made before the command starts");
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* Makes the field text that says why uprobes do not read the value. */
static void refuse_field(struct value_probes *probes, const struct value_probe *probe, uint32_t field,
			 struct channel_value_field *read, const char *path, const char *why)
{
	struct record_values *values = probes->values;
	struct value_event *event = &values->events[probe->plan];
	struct value_event_field *described = &event->fields[field];
	struct ptl_bytes name = {0};

	read->kind = CHANNEL_VALUE_NOTHING;
	described->kind = CHANNEL_VALUE_NOTHING;
	snprintf(described->why, sizeof(described->why), "<%s>", why);
	common_text_safe(&name, described->name);
	common_text_format(&name, " of %s", event->name);
	record_values_note(values, common_text_string(&name), path, why);
	common_bytes_free(&name);
}

static void fetch_fields(struct value_probes *probes, struct value_probe *probe, const char *path)
{
	const struct channel_value_plan *plan = &probes->shared->plans[probe->plan];

	for (uint32_t i = 0; i < plan->field_count; i++) {
		struct channel_value_field *field = &probes->shared->fields[plan->first_field + i];
		const struct channel_value_step *steps = &probes->shared->steps[field->first_step];
		struct value_fetch_link *links = &probes->links[field->first_step];
		const bool is_text = field->kind == CHANNEL_VALUE_COUNTED || field->kind == CHANNEL_VALUE_STRING;
		const char *why = NULL;

		if (field->kind == CHANNEL_VALUE_NOTHING)
			continue;
		why = value_fetch_steps(&probe->fetch, steps, field->step_count, links,
					is_text ? &probe->texts[i] : NULL);
		if (!why)
			why = value_fetch_steps(&probe->fetch, steps + field->step_count, field->length_count,
						links + field->step_count, NULL);
		if (why)
			refuse_field(probes, probe, i, field, path, why);
	}
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Adds an exit of the function. False: uprobes cannot tell where its jump leads. */
static bool add_exit(struct value_probes *probes, struct value_probe *probe, const struct value_exit *found)
{
	struct record_values *values = probes->values;
	struct probe_place *place = &probe->places[probe->place_count];

	*place = (struct probe_place){found->offset, (uint8_t)found->kind, found->condition, NO_STEPS, 0};
	if (found->kind == VALUE_EXIT_CONDITION && probe->flags < 0) {
		probe->flags = value_fetch_add(&probe->fetch, "%flags:u64", 8);
		if (probe->flags < 0)
			return false;
	}
	if (found->kind == VALUE_EXIT_INDIRECT) {
		if (values->step_count + found->step_count > CHANNEL_VALUE_STEPS_MAX)
			return false;
		place->first_step = values->step_count;
		place->step_count = found->step_count;
		memcpy(&probes->shared->steps[place->first_step], found->steps,
		       found->step_count * sizeof(*found->steps));
		values->step_count += found->step_count;
		if (value_fetch_steps(&probe->fetch, found->steps, found->step_count, &probes->links[place->first_step],
				      NULL))
			return false;
	}
	probe->place_count++;
	return true;
}

static const char *find_places(struct value_probes *probes, struct value_probe *probe, const char *path)
{
	const struct channel_value_plan *plan = &probes->shared->plans[probe->plan];
	const bool returns = plan->place == CHANNEL_VALUE_AT_RETURN;
	struct value_exits *exits = malloc(sizeof(*exits));
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const char *why = NULL;

	if (fd < 0 || !exits || !value_exits_find(fd, plan, plan->offset, exits)) {
		why = "its code cannot be read: no values are recorded";
	} else if (!returns) {
		probe->places[probe->place_count++] = (struct probe_place){.offset = plan->offset};
		if (exits->has_loop)
			why = "a loop begins at its first instructions, and uprobes do not tell a round from a call: "
			      "no arguments are recorded";
	} else {
		bool complete = !exits->has_more && !exits->has_table;

		for (size_t i = 0; i < exits->count; i++)
			complete &= add_exit(probes, probe, &exits->list[i]);
		if (!complete)
			record_values_note(probes->values, probes->values->events[probe->plan].name, path,
					   "it may end by a jump that uprobes do not follow: such calls have no event "
					   "of the result");
	}
	if (fd >= 0)
		close(fd);
	free(exits);
	return why;
}

/* ---- probes ---------------------------------------------------------------------------------- */

static int create_probe(struct value_probes *probes, struct value_probe *probe, const char *path,
			int (*create)(void *context, const struct value_probe_request *request), void *context)
{
	const struct value_event *event = &probes->values->events[probe->plan];
	uint64_t offsets[VALUE_EXITS_MAX];
	struct ptl_bytes arguments = {0}, name = {0};
	int status;

	for (size_t i = 0; i < probe->place_count; i++)
		offsets[i] = probe->places[i].offset;
	value_fetch_print(&probe->fetch, &arguments);
	common_text_add(&name, event->name);
	if (arguments.failed || name.failed) {
		status = common_fail_memory("--values", arguments.size);
	} else {
		const struct value_probe_request request = {
			.number = probes->count - 1,
			.name = common_text_string(&name),
			.path = path,
			.offsets = offsets,
			.offset_count = probe->place_count,
			.arguments = common_text_string(&arguments),
		};

		status = create(context, &request);
	}
	common_bytes_free(&arguments);
	common_bytes_free(&name);
	return status;
}

static int add_probe(struct value_probes *probes, uint32_t plan, const char *path,
		     int (*create)(void *context, const struct value_probe_request *request), void *context)
{
	struct value_probe *probe = calloc(1, sizeof(*probe));
	const char *why;

	if (!probe)
		return common_fail_memory("--values", sizeof(*probe));
	probe->plan = plan;
	probe->flags = -1;
	why = find_places(probes, probe, path);
	if (why)
		record_values_note(probes->values, probes->values->events[plan].name, path, why);
	if (why || !probe->place_count) {
		free(probe);
		return 0;
	}
	fetch_fields(probes, probe, path);
	probes->list[probes->count++] = probe;
	return create_probe(probes, probe, path, create, context);
}

int value_probes_file(struct value_probes *probes, const char *path,
		      int (*create)(void *context, const struct value_probe_request *request), void *context)
{
	uint32_t plan = probes->values->plan_count;
	struct stat file;
	int status;

	if (stat(path, &file) < 0)
		return common_fail_errno("%s", path);
	status = record_values_image(probes->values, path, file.st_dev, file.st_ino);
	for (; status == 0 && plan < probes->values->plan_count; plan++)
		status = add_probe(probes, plan, path, create, context);
	return status;
}

bool value_probes_format(struct value_probes *probes, unsigned number, const char *format)
{
	struct value_probe *probe = probes->list[number];
	const char *place = strstr(format, " place;\toffset:");

	if (place)
		probe->place_offset = (uint32_t)strtoul(place + strlen(" place;\toffset:"), NULL, 10);
	return place && value_fetch_format(&probe->fetch, format);
}

/* ---- events ---------------------------------------------------------------------------------- */

/* A message at work. */
struct values_message {
	struct value_sample sample;
	struct channel_message_values head;
	uint8_t *payload;
};

static void put(struct values_message *message, uint64_t value, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		message->payload[message->head.length++] = (uint8_t)(value >> 8 * i);
}

/* Puts text of at most `most` bytes. False: not readable. */
static bool put_text(struct values_message *message, unsigned argument, bool counted, uint64_t most)
{
	const uint64_t limit = most < CHANNEL_VALUE_STRING_MAX ? most : CHANNEL_VALUE_STRING_MAX;
	size_t size = 0;
	bool cut = false;
	const uint8_t *text = limit ? value_fetch_text(&message->sample, argument, &size, &cut) : (const uint8_t *)"";

	if (size < limit && (cut || (counted && text))) {
		message->sample.address = cut ? CHANNEL_VALUE_NO_ROOM : VALUE_MISSING_TEXT;
		return false;
	}
	if (!text)
		return false;
	size = size < limit ? size : (size_t)limit;
	put(message, size, 2);
	memcpy(message->payload + message->head.length, text, size);
	message->head.length += (uint32_t)size;
	return true;
}

static bool put_field(const struct value_probes *probes, const struct value_probe *probe, uint32_t index,
		      const struct channel_value_field *field, struct values_message *message)
{
	const uint32_t first = field->first_step;
	uint64_t value, length = CHANNEL_VALUE_STRING_MAX;

	if (!value_fetch_compute(&message->sample, &probes->shared->steps[first], &probes->links[first],
				 field->step_count, &value) ||
	    (field->length_count &&
	     !value_fetch_compute(&message->sample, &probes->shared->steps[first + field->step_count],
				  &probes->links[first + field->step_count], field->length_count, &length)))
		return false;
	if (field->kind == CHANNEL_VALUE_NUMBER) {
		put(message, value, field->size <= 8 ? field->size : 8);
		return true;
	}
	message->sample.address = value;
	return put_text(message, probe->texts[index], field->kind == CHANNEL_VALUE_COUNTED, length);
}

static void put_fields(const struct value_probes *probes, const struct value_probe *probe,
		       struct values_message *message)
{
	const struct channel_value_plan *plan = &probes->shared->plans[probe->plan];

	for (uint32_t i = 0; i < plan->field_count && i < CHANNEL_VALUE_PLAN_FIELDS_MAX; i++) {
		const struct channel_value_field *field = &probes->shared->fields[plan->first_field + i];

		if (field->kind == CHANNEL_VALUE_NOTHING || put_field(probes, probe, i, field, message))
			continue;
		put(message, message->sample.address, 8);
		message->head.missing |= 1ull << i;
	}
}

/* Returns whether the function goes on in its own code. *away: another function goes on. */
static bool goes_on(const struct value_probes *probes, const struct value_probe *probe, const struct probe_place *place,
		    struct value_sample *sample, bool *away)
{
	const uint32_t first = place->first_step;
	uint64_t target;

	*away = place->kind != VALUE_EXIT_RETURN;
	if (place->kind == VALUE_EXIT_CONDITION)
		return !value_exit_is_taken(value_fetch_number(sample, (unsigned)probe->flags), place->condition);
	return place->kind == VALUE_EXIT_INDIRECT &&
	       value_fetch_compute(sample, &probes->shared->steps[first], &probes->links[first], place->step_count,
				   &target) &&
	       value_exits_inside(&probes->shared->plans[probe->plan], target - sample->image);
}

int value_probes_event(struct value_probes *probes, unsigned number, const uint8_t *raw, size_t size,
		       struct ptl_event *event)
{
	const struct value_probe *probe = probes->list[number];
	struct record_values *values = probes->values;
	struct values_message message = {
		.sample = {.fetch = &probe->fetch, .raw = raw, .size = size},
		.head = {.plan = probe->plan},
		.payload = probes->payload,
	};
	const struct probe_place *place;
	bool away, valid;
	size_t index;
	int status;

	if (size < 16 || probe->place_offset + (size_t)2 > size)
		return PTL_CORRUPT;
	index = common_load16(raw + probe->place_offset);
	if (index >= probe->place_count)
		return PTL_CORRUPT;
	place = &probe->places[index];
	message.sample.image = common_load64(raw + 8) - place->offset;
	if (goes_on(probes, probe, place, &message.sample, &away))
		return 0;
	message.head.tail_call = away;
	if (!away)
		put_fields(probes, probe, &message);
	*event = (struct ptl_event){
		.descriptor = {.provider = values->provider, .level = PTL_LEVEL_INFORMATIONAL},
	};
	status = value_event_make(&values->events[probe->plan], values->capture, &values->provider, &message.head,
				  message.payload, &values->next_id, &values->payload, &event->descriptor.id, &valid);
	event->payload = values->payload.data;
	event->payload_size = values->payload.size;
	return status < 0 ? status : valid ? 1 : PTL_CORRUPT;
}
