/* SPDX-License-Identifier: BSD-2-Clause */
/* Handles memory events of the recorder. Such an event may replace an image of a rule, or trigger its load. */
#include "relog/rules/images.h"

#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"

/* ---- images of the recorder -------------------------------------------------------------- */

/* Memory of the process appeared. Sets `turn` if the memory triggers the load of the image statement. */
static int notice_statement(struct rules_run *run, size_t index, const struct rules_image *image,
			    const struct ptl_image_event *data)
{
	struct query_scope scope = rules_statement_scope(run, data->process_id);
	struct query_expr *const *values = image->body.property;
	struct rules_space *space;
	uint64_t base, size;
	const char *path;
	int status = query_evaluate_number(&scope, values[RULES_PROPERTY_BASE], UINT64_MAX, 0, &base);

	if (!status)
		status = query_evaluate_number(&scope, values[RULES_PROPERTY_SIZE], UINT64_MAX, 0, &size);
	if (!status)
		status = query_evaluate_text(&scope, values[RULES_PROPERTY_PATH], "", &path);
	if (!status)
		status = rules_space_need(run, data->process_id, &space);
	if (status < 0)
		return status;
	space->turn[index] = false;
	if (!format_is_range(base, size) || data->base > base + (size - 1) || data->base + (data->size - 1) < base ||
	    (!rules_is_nameless(data->file_name) && strcmp(data->file_name, path) != 0) ||
	    ptl_state_find_image(run->state, data->process_id, base, base + (size - 1)))
		return 0;
	space->turn[index] = ++space->mapped[index] == image->body.load_nth;
	return 0;
}

/* Check all statements before loading any: an image loaded for one statement must not trigger another. */
static int notice_memory(struct rules_run *run, uint64_t time, const struct ptl_image_event *data)
{
	const struct rules_image *image = run->rules->images;
	struct rules_space *space = NULL;
	int status = 0;

	for (size_t i = 0; !status && image; i++, image = image->next) {
		if (image->body.load < RULES_LOAD_MAPPED || !rules_statement_applies(run, image, data->process_id))
			continue;
		status = image->body.load == RULES_LOAD_MAPPED ? notice_statement(run, i, image, data)
							       : rules_perf_map_notice(run, i, image, time, data);
	}
	space = status ? NULL : rules_space_find(run, data->process_id);
	image = run->rules->images;
	for (size_t i = 0; space && !status && image; i++, image = image->next) {
		bool turn = space->turn[i];

		space->turn[i] = false;
		if (turn)
			status = rules_statement_load(run, image, data->process_id, time, PTL_OPCODE_LOAD);
	}
	return status;
}

/* Reports the part of the recorder's image that no image of a rule has taken. */
static int report_fragment(struct rules_run *run, const struct ptl_event *event, const struct ptl_image_event *data,
			   uint64_t first, uint64_t last)
{
	struct ptl_image_event fragment = *data;
	uint64_t skip = first - data->base;
	int status = 0;

	fragment.base = first;
	fragment.size = last - first + 1;
	fragment.file_offset += skip;
	fragment.default_base += skip;
	if (data->has_code)
		status = rules_slice(run, data->code, skip, fragment.size, fragment.code);
	return status < 0 ? status : rules_report_image(run, event->time, event->descriptor.opcode, &fragment);
}

/* An image of a rule lies in an image of the recorder: reports the recorder's code for the part of the rule's image. */
static int take_over(struct rules_run *run, const struct ptl_event *event, const struct ptl_image_event *data,
		     const struct rules_live *live)
{
	uint64_t last = data->base + (data->size - 1);
	uint64_t first = live->first > data->base ? live->first : data->base;
	uint8_t code[PTL_HASH_SIZE];
	int status;

	if (last > live->last)
		last = live->last;
	if (!data->has_code || event->descriptor.opcode == PTL_OPCODE_END_RUNDOWN)
		return 0;
	status = rules_slice(run, data->code, first - data->base, last - first + 1, code);
	return status < 0 ? status
			  : rules_report_code(run, data->process_id, event->time, first, last - first + 1, code);
}

/* Splits the recorder's image around images of rules. Sets *pass to false if the event was replaced. */
static int split_image(struct rules_run *run, const struct ptl_event *event, const struct ptl_image_event *data,
		       bool *pass)
{
	struct rules_space *space = rules_space_find(run, data->process_id);
	uint64_t at = data->base, last = data->base + (data->size - 1);
	bool other = !rules_is_nameless(data->file_name);
	struct rules_live *live;
	int status = 0;

	while (!status && (live = rules_live_find(space, at, last))) {
		uint64_t live_first = live->first, live_last = live->last;

		if (other && strcmp(data->file_name, live->data.file_name) != 0) {
			if (!run->options.replace)
				return rules_images_overlap(run, live->at, live->data.file_name, live->data.base,
							    live->data.size, data);
			return rules_live_remove(space, data->base, last);
		}
		*pass = false;
		if (live_first > at)
			status = report_fragment(run, event, data, at, live_first - 1);
		if (!status)
			status = take_over(run, event, data, live);
		if (live_last >= last)
			return status;
		at = live_last + 1;
	}
	if (!status && !*pass)
		status = report_fragment(run, event, data, at, last);
	return status;
}

static int image_event(struct rules_run *run, const struct ptl_event *event, const struct ptl_image_event *data,
		       bool *pass)
{
	uint8_t opcode = event->descriptor.opcode;
	bool executable = opcode != PTL_OPCODE_PROTECT || data->protection & 4u;
	struct rules_space *space;
	int status = 0;

	if (opcode == PTL_OPCODE_UNLOAD || !format_is_range(data->base, data->size))
		return 0;
	if (executable && opcode != PTL_OPCODE_END_RUNDOWN)
		status = notice_memory(run, event->time, data);
	if (!status && run->images->tracks_backing && executable && opcode != PTL_OPCODE_END_RUNDOWN &&
	    opcode != PTL_OPCODE_PROTECT && rules_is_nameless(data->file_name)) {
		status = rules_space_need(run, data->process_id, &space);
		if (!status)
			status = rules_backing_add(space, data, event->time);
	}
	/* A change of protection concerns known memory, and does not change images. */
	if (status < 0 || opcode == PTL_OPCODE_PROTECT)
		return status;
	return split_image(run, event, data, pass);
}

int rules_images_before(struct rules_run *run, const struct ptl_event *event, enum format_class class, bool *pass)
{
	struct ptl_image_event data;
	struct ptl_bytes storage = {0};
	int status = 0;

	if (class == FORMAT_CLASS_IMAGE && !ptl_image_decode(event, &storage, &data))
		status = image_event(run, event, &data, pass);
	common_bytes_free(&storage);
	return status;
}

static int unload_event(struct rules_run *run, const struct ptl_image_event *data)
{
	struct rules_space *space = rules_space_find(run, data->process_id);
	uint64_t first = data->base, last = data->base + (data->size - 1);

	if (space && !data->size) {
		const struct rules_live *live = rules_live_find(space, data->base, data->base);

		first = live ? live->first : 1;
		last = live ? live->last : 0;
	}
	if (!space || last < first)
		return 0;
	rules_backing_remove(space, first, last);
	return rules_live_remove(space, first, last);
}

int rules_images_after(struct rules_run *run, const struct ptl_event *event, enum format_class class)
{
	struct ptl_image_event data;
	struct ptl_code_event code;
	struct ptl_bytes storage = {0};
	int status = 0;

	if (class == FORMAT_CLASS_PROCESS)
		return rules_images_process(run, event);
	if (class == FORMAT_CLASS_CODE && run->images->tracks_backing && !ptl_code_decode(event, &code)) {
		struct rules_space *space = rules_space_find(run, code.process_id);

		return space ? rules_backing_code(space, &code, event->time) : 0;
	}
	if (class == FORMAT_CLASS_IMAGE && event->descriptor.opcode == PTL_OPCODE_UNLOAD &&
	    !ptl_image_decode(event, &storage, &data))
		status = unload_event(run, &data);
	common_bytes_free(&storage);
	return status;
}
