/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads and unloads images of rules at their times. */
#include "relog/rules/images.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/text/program_name.h"
#include "common/vector.h"
#include "query/glob.h"

/* ---- load -------------------------------------------------------------------------------- */

int rules_images_overlap(const struct rules_run *run, struct query_place at, const char *path, uint64_t base,
			 uint64_t size, const struct ptl_image_event *other)
{
	return query_fail_at(run->rules->name, at,
			     "expected memory of no other image for %.120s (%#" PRIx64 " bytes at %#" PRIx64
			     "), found %.120s (%#" PRIx64 " bytes at %#" PRIx64 "); --replace lets the later count",
			     path, size, base, other->file_name, other->size, other->base);
}

static int check_overlap(const struct rules_run *run, const struct rules_spec *spec)
{
	uint64_t first = spec->base, last = spec->base + (spec->size - 1);
	const struct ptl_image_event *other;

	while (!run->options.replace && (other = ptl_state_find_image(run->state, spec->pid, first, last))) {
		uint64_t other_last = other->base + (other->size - 1);

		if (!rules_is_nameless(other->file_name) && strcmp(other->file_name, spec->path) != 0)
			return rules_images_overlap(run, spec->at, spec->path, spec->base, spec->size, other);
		if (other_last < first || other_last >= last)
			break;
		first = other_last + 1;
	}
	return 0;
}

int rules_report_image(struct rules_run *run, uint64_t time, uint8_t opcode, const struct ptl_image_event *data)
{
	struct ptl_event event = {.time = time, .cpu = PTL_NO_CPU, .pid = data->process_id, .tid = PTL_NO_ID};
	struct ptl_bytes storage = {0};
	int status = ptl_image_encode(data, opcode, &storage, &event);

	if (!status)
		status = rules_inject(run, &event);
	common_bytes_free(&storage);
	return status;
}

/* Reports the image event, then the captured code, which the image event would hide. */
static int report_image(struct rules_run *run, const struct ptl_image_event *data, uint64_t time, uint8_t opcode,
			const struct rules_captured *captured)
{
	int status = rules_report_image(run, time, opcode, data);

	return status < 0 ? status : rules_captured_report(run, data->process_id, time, captured);
}

/*
 * Reports the image as of the time when its memory appeared, or the last image of a rule there was unloaded. A loader
 * may report an image long after mapping, and a decoder looks up code as of the preceding PSB. Returns 1 if that time is
 * unknown, or another image of a rule is there.
 */
static int report_as_of_start(struct rules_run *run, const struct ptl_image_event *data, uint64_t time,
			      const struct rules_captured *now)
{
	const struct rules_space *space = rules_space_find(run, data->process_id);
	const uint64_t last = data->base + (data->size - 1);
	struct rules_captured captured;
	uint64_t start;
	int status;

	if (rules_live_find(space, data->base, last))
		return 1;
	status = rules_captured_at_start(space, data->base, last, &start, &captured);

	if (!status && start >= time)
		status = 1;
	if (!status) {
		/* Write the event at the start time, but tell the state at the present time only. */
		run->only = RULES_ONLY_OUTPUT;
		status = report_image(run, data, start, PTL_OPCODE_LOAD, &captured);
		run->only = RULES_ONLY_STATE;
		if (!status)
			status = report_image(run, data, time, PTL_OPCODE_LOAD, now);
		run->only = RULES_BOTH;
	}
	rules_captured_free(&captured);
	return status;
}

static int load_part(struct rules_run *run, const struct ptl_image_event *data, const struct rules_spec *spec,
		     uint8_t opcode)
{
	struct rules_captured captured;
	struct rules_space *space;
	int status = rules_captured_gather(run, data->process_id, data->base, data->base + (data->size - 1), &captured);

	if (!status && spec->as_of_start)
		status = report_as_of_start(run, data, spec->time, &captured);
	else if (!status)
		status = 1;
	if (status == 1)
		status = report_image(run, data, spec->time, opcode, &captured);
	rules_captured_free(&captured);
	if (!status)
		status = rules_space_need(run, data->process_id, &space);
	return status < 0 ? status : rules_live_add(space, data, spec);
}

static int load_made_image(struct rules_run *run, const struct query_scope *scope, const struct rules_body *body,
			   struct rules_spec *spec, uint8_t opcode)
{
	int status = rules_spec_evaluate(run, scope, body, spec);

	if (!status)
		status = check_overlap(run, spec);
	for (size_t i = 0; !status && i < spec->part_count; i++) {
		const struct rules_part *part = &spec->parts[i];
		struct ptl_image_event data = spec->image;

		data.process_id = spec->pid;
		data.base = spec->base + part->rva;
		data.size = part->size;
		data.default_base = spec->default_base + part->rva;
		data.file_name = spec->path;
		data.file_offset = part->file_offset;
		data.protection = part->protection;
		status = rules_spec_code(run, scope, body, part, &data);
		if (!status)
			status = load_part(run, &data, spec, opcode);
	}
	return status;
}

int rules_images_load(struct rules_run *run, const struct rules_action *action)
{
	struct query_scope scope = rules_current_scope(run);
	struct query_expr *const *values = action->body->property;
	struct rules_spec spec = {.at = action->at, .as_of_start = !values[RULES_PROPERTY_TIME]};
	uint64_t pid;
	int status = query_evaluate_number(&scope, values[RULES_PROPERTY_PID], UINT32_MAX, run->now.event.pid, &pid);

	if (!status)
		status = query_evaluate_number(&scope, values[RULES_PROPERTY_TIME], UINT64_MAX, run->now.event.time,
					       &spec.time);
	spec.pid = (uint32_t)pid;
	return status < 0 ? status : load_made_image(run, &scope, action->body, &spec, PTL_OPCODE_LOAD);
}

/* ---- unload ------------------------------------------------------------------------------ */

/*
 * Unloads an image of a rule. Memory that the recorder still knows is reported again, without the image's name, with
 * its code.
 */
static int end_part(struct rules_run *run, struct rules_space *space, const struct ptl_image_event *data, uint64_t time)
{
	uint64_t first = data->base, last = data->base + (data->size - 1);
	struct rules_captured captured;
	int status = rules_captured_gather(run, data->process_id, first, last, &captured);

	if (!status)
		status = rules_report_image(run, time, PTL_OPCODE_UNLOAD, data);
	if (!status)
		status = rules_live_remove(space, first, last);
	if (!status)
		status = rules_ended_add(space, first, last, time);
	for (const struct rules_backing *b = space->backing; !status && b; b = b->next) {
		struct ptl_image_event rest = b->data;

		if (b->first > last || b->last < first)
			continue;
		rest.base = b->first > first ? b->first : first;
		rest.size = (b->last < last ? b->last : last) - rest.base + 1;
		rest.default_base += rest.base - b->data.base;
		rest.has_code = false;
		status = report_image(run, &rest, time, PTL_OPCODE_LOAD, &captured);
	}
	rules_captured_free(&captured);
	return status;
}

/* Unloads all live parts of the image whose base is `base`. */
static int unload_live_parts(struct rules_run *run, uint32_t pid, uint64_t base, uint64_t time)
{
	struct rules_space *space = rules_space_find(run, pid);
	const size_t first = space ? rules_live_index(space, base) : 0;
	uint64_t end = UINT64_MAX; /* end of the image, once a part is found */
	int status = 0;

	for (size_t i = first; space && !status && i < space->live_count && space->live[i]->first < end;) {
		const struct rules_live *live = space->live[i];
		struct ptl_image_event data = live->data;

		if (live->image_base != base) {
			i++;
			continue;
		}
		end = base + live->image_size;
		data.base = live->first;
		data.size = live->last - live->first + 1;
		status = end_part(run, space, &data, time);
	}
	return status;
}

int rules_images_unload(struct rules_run *run, const struct rules_action *action)
{
	struct query_scope scope = rules_current_scope(run);
	struct query_expr *const *values = action->body->property;
	uint64_t pid, base, time;
	int status = query_evaluate_number(&scope, values[RULES_PROPERTY_PID], UINT32_MAX, run->now.event.pid, &pid);

	if (!status)
		status = query_evaluate_number(&scope, values[RULES_PROPERTY_BASE], UINT64_MAX, 0, &base);
	if (!status)
		status = query_evaluate_number(&scope, values[RULES_PROPERTY_TIME], UINT64_MAX, run->now.event.time,
					       &time);
	return status < 0 ? status : unload_live_parts(run, (uint32_t)pid, base, time);
}

/* ---- statements -------------------------------------------------------------------------- */

bool rules_statement_applies(const struct rules_run *run, const struct rules_image *image, uint32_t pid)
{
	struct ptl_state_process process;
	struct ptl_bytes word = {0};
	bool applies;

	if (!image->process)
		return image->pid == pid;
	if (!ptl_state_find_process(run->state, pid, &process) || !process.program[0])
		return false;
	applies = query_glob_path(image->process, process.program);
	if (!applies && process.command_line[0]) {
		common_first_word(&word, process.command_line);
		applies = !word.failed && word.size > 1 && query_glob_path(image->process, (const char *)word.data);
		common_bytes_free(&word);
	}
	return applies;
}

static int no_field(void *context, unsigned index, struct query_value *value)
{
	(void)context;
	(void)index;
	*value = (struct query_value){0};
	return 0;
}

struct query_scope rules_statement_scope(struct rules_run *run, uint32_t pid)
{
	return (struct query_scope){
		.name = run->rules->name,
		.files = &run->files,
		.scratch = &run->scratch,
		.pid = pid,
		.field = no_field,
	};
}

static int load_statement(struct rules_run *run, const struct rules_image *image, struct rules_spec *spec,
			  uint8_t opcode)
{
	struct query_scope scope = rules_statement_scope(run, spec->pid);
	size_t index = 0;

	for (const struct rules_image *other = run->rules->images; other != image; other = other->next)
		index++;
	run->images->loaded[index] = true;
	return load_made_image(run, &scope, &image->body, spec, opcode);
}

int rules_statement_load(struct rules_run *run, const struct rules_image *image, uint32_t pid, uint64_t time,
			 uint8_t opcode)
{
	struct rules_spec spec = {.at = image->at, .pid = pid, .time = time};

	return load_statement(run, image, &spec, opcode);
}

int rules_statement_load_memory(struct rules_run *run, const struct rules_image *image, uint32_t pid, uint64_t time,
				uint64_t base, uint64_t size)
{
	struct rules_spec spec = {.at = image->at,
				  .pid = pid,
				  .time = time,
				  .base = base,
				  .size = size,
				  .default_base = base,
				  .whole_map = true};

	return load_statement(run, image, &spec, PTL_OPCODE_LOAD);
}

/* ---- scheduled actions ------------------------------------------------------------------- */

static int add_due(struct rules_images *images, const struct rules_due *due)
{
	size_t at = images->due_count;
	struct rules_due *list;

	if (!common_vector_room(&images->due, at, sizeof(*images->due)))
		return common_fail_memory("images", (at + 1) * sizeof(*images->due));
	list = images->due;
	for (; at > images->due_first && list[at - 1].time > due->time; at--)
		list[at] = list[at - 1];
	list[at] = *due;
	images->due_count++;
	return 0;
}

static int load_everywhere(struct rules_run *run, const struct rules_due *due)
{
	struct ptl_state_process process;
	int status = 0;

	if (due->pid != PTL_NO_ID)
		return rules_statement_load(run, due->image, due->pid, due->time, PTL_OPCODE_LOAD);
	for (size_t i = 0; !status && ptl_state_process_at(run->state, i, &process); i++)
		if (rules_statement_applies(run, due->image, process.pid))
			status = rules_statement_load(run, due->image, process.pid, due->time, PTL_OPCODE_LOAD);
	return status;
}

static int unload_everywhere(struct rules_run *run, const struct rules_due *due)
{
	struct ptl_state_process process;
	int status = 0;

	for (size_t i = 0; !status && ptl_state_process_at(run->state, i, &process); i++) {
		struct query_scope scope = rules_statement_scope(run, process.pid);
		uint64_t base;

		if (!rules_statement_applies(run, due->image, process.pid))
			continue;
		status = query_evaluate_number(&scope, due->image->body.property[RULES_PROPERTY_BASE], UINT64_MAX, 0,
					       &base);
		if (!status)
			status = unload_live_parts(run, process.pid, base, due->time);
	}
	return status;
}

/*
 * Copies the images of the parent to a forked process. Called just after the start of the process, so that the process
 * inherits other mappings, too.
 */
static int copy_images(struct rules_run *run, const struct rules_due *due)
{
	const struct rules_space *parent = rules_space_find(run, due->parent);
	struct rules_spec spec;
	int status = 0;

	for (size_t i = 0; parent && !status && i < parent->live_count; i++) {
		const struct rules_live *live = parent->live[i];
		struct ptl_image_event data = live->data;

		data.process_id = due->pid;
		data.default_base += live->first - data.base;
		data.file_offset += live->first - data.base;
		if (live->first != data.base)
			/* The code belongs to the whole image; captured code is reported anyway. */
			data.has_code = false;
		data.base = live->first;
		data.size = live->last - live->first + 1;
		spec = (struct rules_spec){
			.at = live->at, .time = due->time, .base = live->image_base, .size = live->image_size};
		status = load_part(run, &data, &spec, PTL_OPCODE_LOAD);
	}
	return status;
}

int rules_images_until(struct rules_run *run, uint64_t time)
{
	struct rules_images *images = run->images;
	int status = 0;

	while (!status && images->due_first < images->due_count && images->due[images->due_first].time <= time) {
		struct rules_due due = images->due[images->due_first++];

		common_arena_reset(&run->scratch);
		if (due.kind == RULES_DUE_LOAD)
			status = load_everywhere(run, &due);
		else if (due.kind == RULES_DUE_UNLOAD)
			status = unload_everywhere(run, &due);
		else
			status = copy_images(run, &due);
	}
	if (images->due_first == images->due_count)
		images->due_first = images->due_count = 0;
	return status;
}

/* ---- processes --------------------------------------------------------------------------- */

static int forget_process(struct rules_run *run, uint32_t pid)
{
	struct rules_space *space = rules_space_find(run, pid);

	if (!space)
		return 0;
	rules_backing_remove(space, 0, UINT64_MAX);
	return rules_live_remove(space, 0, UINT64_MAX);
}

static int load_at_start(struct rules_run *run, uint32_t pid, uint64_t time, uint8_t opcode, bool forked)
{
	int status = 0;

	for (const struct rules_image *image = run->rules->images; !status && image; image = image->next) {
		const struct rules_due due = {.time = time + 1, .kind = RULES_DUE_LOAD, .image = image, .pid = pid};

		if (image->body.load != RULES_LOAD_START || !rules_statement_applies(run, image, pid))
			continue;
		status = forked ? add_due(run->images, &due) : rules_statement_load(run, image, pid, time, opcode);
	}
	return status;
}

int rules_images_process(struct rules_run *run, const struct ptl_event *event)
{
	uint8_t opcode = event->descriptor.opcode;
	struct ptl_process_event data;
	struct ptl_bytes storage = {0};
	struct ptl_state_process parent;
	bool forked;
	int status = 0;

	if (ptl_process_decode(event, &storage, &data)) {
		common_bytes_free(&storage);
		return 0;
	}
	common_bytes_free(&storage);
	forked = opcode == PTL_OPCODE_START && data.parent_id != data.process_id &&
		 ptl_state_find_process(run->state, data.parent_id, &parent);
	if (opcode != PTL_OPCODE_END_RUNDOWN && opcode != PTL_OPCODE_START_RUNDOWN)
		status = forget_process(run, data.process_id);
	if (status < 0 || opcode == PTL_OPCODE_END || opcode == PTL_OPCODE_END_RUNDOWN)
		return status;
	if (forked) {
		const struct rules_due due = {.time = event->time + 1,
					      .kind = RULES_DUE_COPY,
					      .pid = data.process_id,
					      .parent = data.parent_id};
		const struct rules_space *space = rules_space_find(run, data.parent_id);

		if (space && space->live_count)
			return add_due(run->images, &due);
	}
	return load_at_start(run, data.process_id, event->time,
			     opcode == PTL_OPCODE_START_RUNDOWN ? opcode : PTL_OPCODE_LOAD, forked);
}

/* ---- start and end ----------------------------------------------------------------------- */

int rules_images_new(struct rules_run *run, struct rules_images **result)
{
	struct rules_images *images = calloc(1, sizeof(*images));
	int status = 0;

	if (!images)
		return common_fail_memory("images", sizeof(*images));
	*result = images;
	images->tracks_backing = run->needs_state;
	for (const struct rules_image *image = run->rules->images; image; image = image->next)
		images->statement_count++;
	images->loaded = calloc(images->statement_count + 1, sizeof(*images->loaded));
	if (!images->loaded)
		return common_fail_memory("images", images->statement_count);
	for (const struct rules_image *image = run->rules->images; !status && image; image = image->next) {
		struct rules_due due = {.kind = RULES_DUE_LOAD, .image = image, .pid = PTL_NO_ID};

		if (image->body.load == RULES_LOAD_TIME) {
			due.time = rules_moment_time(run, &image->body.load_time);
			status = add_due(images, &due);
		}
		if (!status && image->body.unload_time.given) {
			due.kind = RULES_DUE_UNLOAD;
			due.time = rules_moment_time(run, &image->body.unload_time);
			status = add_due(images, &due);
		}
	}
	return status;
}

void rules_images_free(struct rules_images *images)
{
	if (!images)
		return;
	rules_spaces_free(images);
	common_byte_map_free(&images->tables);
	free(images->hashes);
	free(images->due);
	free(images->loaded);
	free(images);
}
