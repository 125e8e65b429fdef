/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the traces of both sides, and assigns equal keys to equal images. */
#include "analysis/difference/diff_side.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/call/call_selection.h"
#include "analysis/function/source_note.h"
#include "common/error.h"
#include "common/text/text.h"

/* ---- images -------------------------------------------------------------------------------------- */

/* Bits: the sides that have a name. */
#define ON_A 1u
#define ON_B 2u

/* The sides that have each build id and each file name. */
struct census {
	struct common_byte_map builds;
	struct common_byte_map files;
};

static const char *file_of(const struct ptl_image_event *image)
{
	return common_base_name(image->file_name);
}

static int mark(struct common_byte_map *map, const void *key, size_t size, unsigned side)
{
	uint64_t *known = common_byte_map_get(map, key, size);

	if (!known)
		return common_byte_map_put(map, key, size, side);
	*known |= side;
	return 0;
}

static int take_census(const struct analysis_diff *diff, struct census *census)
{
	int status = 0;

	for (size_t r = 0; r < diff->count; r++) {
		const struct analysis_diff_run *run = &diff->runs[r];
		const size_t count = flow_timeline_image_count(run->timeline);

		for (size_t i = 0; !status && i < count; i++) {
			const struct ptl_image_event *image = &flow_timeline_image(run->timeline, i)->data;
			const unsigned side = run->second ? ON_B : ON_A;

			if (image->build_id_size)
				status = mark(&census->builds, image->build_id, image->build_id_size, side);
			if (!status)
				status = mark(&census->files, file_of(image), strlen(file_of(image)), side);
		}
	}
	return status;
}

/* Whether both sides have a file of this name, but the build id exists on one side only. */
static bool is_rebuilt(const struct census *census, const struct ptl_image_event *image)
{
	const uint64_t *build = image->build_id_size
					? common_byte_map_get(&census->builds, image->build_id, image->build_id_size)
					: NULL;
	const uint64_t *file = common_byte_map_get(&census->files, file_of(image), strlen(file_of(image)));

	return build && *build != (ON_A | ON_B) && file && *file == (ON_A | ON_B);
}

static int find_key(struct analysis_diff *diff, const struct ptl_image_event *image, bool by_symbol, uint32_t *key)
{
	struct ptl_bytes name = {0};
	const uint64_t *known;
	int status = 0;

	/*
	 * Images are identified by build id, by path if they have none, and rebuilt images by file name. The first
	 * letter keeps these kinds of names apart.
	 */
	if (by_symbol || !image->build_id_size) {
		common_text_add(&name, by_symbol ? "s" : "f");
		common_text_add(&name, by_symbol ? file_of(image) : image->file_name);
	} else {
		common_text_add(&name, "b");
		common_write_bytes(&name, image->build_id, image->build_id_size);
	}
	known = common_byte_map_get(&diff->names, name.data, name.size);
	*key = known ? (uint32_t)*known : ANALYSIS_DIFF_NO_IMAGE + 1 + (uint32_t)diff->names.used;
	if (name.failed)
		status = common_fail_memory("images", name.size);
	else if (!known)
		status = common_byte_map_put(&diff->names, name.data, name.size, *key);
	common_bytes_free(&name);
	return status;
}

static int give_keys(struct analysis_diff *diff, struct analysis_diff_run *run, const struct census *census)
{
	const size_t count = flow_timeline_image_count(run->timeline);
	int status = 0;

	run->images = calloc(count + 1, sizeof(*run->images));
	if (!run->images)
		return common_fail_memory("images", count * sizeof(*run->images));
	for (size_t i = 0; !status && i < count; i++) {
		const struct ptl_image_event *image = &flow_timeline_image(run->timeline, i)->data;

		if (analysis_ignores_image(diff->ignore, image->file_name) ||
		    !analysis_filter_wants_image(diff->filter, image->file_name))
			continue;
		run->images[i].by_symbol = is_rebuilt(census, image);
		status = find_key(diff, image, run->images[i].by_symbol, &run->images[i].key);
	}
	return status;
}

/* Fails if --image matches no image of any trace: the result "no difference" would be wrong. */
static int check_image_names(const struct analysis_diff *diff)
{
	int status = 0;

	for (size_t i = 0; i < diff->count; i++) {
		status = analysis_input_check_images(&diff->runs[i].input, diff->runs[i].timeline);
		if (status != PTL_MISUSE)
			break;
	}
	return status;
}

int analysis_diff_match(struct analysis_diff *diff)
{
	struct census census = {0};
	int status = check_image_names(diff);

	if (!status)
		status = take_census(diff, &census);

	for (size_t i = 0; !status && i < diff->count; i++)
		status = give_keys(diff, &diff->runs[i], &census);
	common_byte_map_free(&census.builds);
	common_byte_map_free(&census.files);
	return status;
}

/* ---- traces -------------------------------------------------------------------------------------- */

int analysis_diff_open(struct analysis_diff *diff, size_t traces, const struct analysis_ignore *ignore)
{
	*diff = (struct analysis_diff){.ignore = ignore};
	diff->runs = calloc(traces, sizeof(*diff->runs));
	return diff->runs ? 0 : common_fail_memory("traces", traces * sizeof(*diff->runs));
}

int analysis_diff_add(struct analysis_diff *diff, const struct analysis_input *input, struct flow_timeline *timeline,
		      bool second)
{
	struct analysis_diff_run *run = &diff->runs[diff->count++];
	int status;

	*run = (struct analysis_diff_run){.input = *input, .second = second, .timeline = timeline};
	diff->filter = input->filter;
	diff->first_count += !second;
	status = flow_symbols_open(input->trace, timeline, input->names, &run->symbols);
	return status ? status : flow_sources_open(input->trace, timeline, &run->sources);
}

int analysis_diff_select(struct analysis_diff *diff, const char *first, const char *second)
{
	int status = 0;

	for (size_t i = 0; !status && i < diff->count; i++) {
		struct analysis_diff_run *run = &diff->runs[i];
		const char *text = run->second ? second : first;

		if (!text)
			continue;
		run->calls = (struct analysis_calls){
			.input = run->input, .timeline = run->timeline, .symbols = run->symbols};
		status = analysis_functions_open(run->timeline, run->symbols, &run->calls.functions);
		if (!status)
			status = analysis_call_selection_open(&run->calls, text);
		run->input.view.spans = run->calls.input.view.spans;
		if (status)
			return common_fail_in(status, "%s", run->input.path);
	}
	return status;
}

void analysis_diff_close(struct analysis_diff *diff)
{
	for (size_t i = 0; i < diff->count; i++) {
		struct analysis_diff_run *run = &diff->runs[i];

		analysis_call_selection_close(run->calls.selection);
		analysis_functions_close(run->calls.functions);
		analysis_warn_of_sources(run->sources, NULL);
		flow_sources_close(run->sources);
		flow_symbols_close(run->symbols);
		free(run->images);
	}
	free(diff->runs);
	common_byte_map_free(&diff->names);
	diff->runs = NULL;
	diff->count = 0;
}

/* ---- places -------------------------------------------------------------------------------------- */

void analysis_diff_place(const struct analysis_diff_run *run, uint32_t image, uint64_t address, struct ptl_bytes *text)
{
	const char *file;
	uint32_t line;

	if (image == FLOW_NONE) {
		common_text_add(text, "0x");
		common_text_hex(text, address);
		return;
	}
	flow_symbols_text(run->symbols, image, address, text);
	if (!flow_sources_find(run->sources, image, address, &file, &line))
		return;
	common_text_add(text, "  ");
	common_text_safe(text, common_base_name(file));
	common_text_format(text, ":%u", line);
}

void analysis_diff_json_place(const struct analysis_diff_run *run, uint32_t image, uint64_t address,
			      struct common_json *json, struct ptl_bytes *scratch)
{
	const struct flow_timeline_image *mapped = image == FLOW_NONE ? NULL
								      : flow_timeline_image(run->timeline, image);
	struct flow_symbol symbol;
	const char *file;
	uint32_t line;

	common_json_string(json, "image", mapped ? mapped->data.file_name : NULL);
	common_json_hex(json, "address", mapped ? flow_image_address(mapped, address) : address);
	if (flow_symbols_find(run->symbols, image, address, &symbol)) {
		scratch->size = 0;
		flow_symbols_name(run->symbols, symbol.name, scratch);
		common_json_string(json, "symbol", common_text_string(scratch));
		common_json_u64(json, "offset", symbol.offset);
	}
	if (flow_sources_find(run->sources, image, address, &file, &line)) {
		common_json_string(json, "file", file);
		common_json_u64(json, "line", line);
	}
}
