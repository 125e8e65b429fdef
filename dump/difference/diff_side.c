/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the traces of both sides, and assigns equal keys to equal images. */
#include "dump/difference/diff_side.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text/text.h"
#include "dump/print/source_note.h"
#include "dump/session/session.h"

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

static int take_census(const struct dump_diff *diff, struct census *census)
{
	int status = 0;

	for (size_t r = 0; r < diff->count; r++) {
		const struct dump_diff_run *run = &diff->runs[r];
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

static int find_key(struct dump_diff *diff, const struct ptl_image_event *image, bool by_symbol, uint32_t *key)
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
	*key = known ? (uint32_t)*known : DUMP_DIFF_NO_IMAGE + 1 + (uint32_t)diff->names.used;
	if (name.failed)
		status = common_fail_memory("images", name.size);
	else if (!known)
		status = common_byte_map_put(&diff->names, name.data, name.size, *key);
	common_bytes_free(&name);
	return status;
}

static int give_keys(struct dump_diff *diff, struct dump_diff_run *run, const struct census *census)
{
	const size_t count = flow_timeline_image_count(run->timeline);
	int status = 0;

	run->images = calloc(count + 1, sizeof(*run->images));
	if (!run->images)
		return common_fail_memory("images", count * sizeof(*run->images));
	for (size_t i = 0; !status && i < count; i++) {
		const struct ptl_image_event *image = &flow_timeline_image(run->timeline, i)->data;

		if (dump_ignores_image(diff->ignore, image->file_name) ||
		    !dump_filter_wants_image(&diff->options->filter, image->file_name))
			continue;
		run->images[i].by_symbol = is_rebuilt(census, image);
		status = find_key(diff, image, run->images[i].by_symbol, &run->images[i].key);
	}
	return status;
}

/* Fails if --image matches no image of any trace: the result "no difference" would be wrong. */
static int check_image_names(const struct dump_diff *diff)
{
	int status = 0;

	for (size_t i = 0; i < diff->count; i++) {
		status = dump_session_check_images(&diff->runs[i].session, diff->runs[i].timeline);
		if (status != PTL_MISUSE)
			break;
	}
	return status;
}

static int match_images(struct dump_diff *diff)
{
	struct census census = {0};
	int status = take_census(diff, &census);

	for (size_t i = 0; !status && i < diff->count; i++)
		status = give_keys(diff, &diff->runs[i], &census);
	common_byte_map_free(&census.builds);
	common_byte_map_free(&census.files);
	return status;
}

/* ---- traces -------------------------------------------------------------------------------------- */

static int open_run(struct dump_diff *diff, const struct dump_session *session, const char *path, bool second)
{
	struct dump_diff_run *run = &diff->runs[diff->count];
	int status = 0;

	*run = (struct dump_diff_run){.session = *session, .second = second, .opened = path != NULL};
	run->session.several = true;
	if (path) {
		run->session.path = path;
		run->session.trace = NULL;
		status = dump_session_open(&run->session);
		/* dump_session_open has reported the error. */
		if (status < 0)
			return common_fail(status, "there is nothing to compare with");
	}
	diff->count++;
	status = dump_session_timeline(&run->session, &run->timeline);
	if (!status)
		status = flow_symbols_open(run->session.trace, run->timeline, !diff->options->no_demangle,
					   &run->symbols);
	return status ? status : flow_sources_open(run->session.trace, run->timeline, &run->sources);
}

int dump_diff_open(struct dump_diff *diff, struct dump_session *session, char *const *first, size_t first_count,
		   const char *const *second, size_t second_count, const struct dump_ignore *ignore)
{
	int status;

	*diff = (struct dump_diff){.ignore = ignore, .options = session->options, .first_count = first_count + 1};
	diff->runs = calloc(1 + first_count + second_count, sizeof(*diff->runs));
	if (!diff->runs)
		return common_fail_memory("traces", second_count * sizeof(*diff->runs));
	status = open_run(diff, session, NULL, false);
	for (size_t i = 0; !status && i < first_count; i++)
		status = open_run(diff, session, first[i], false);
	for (size_t i = 0; !status && i < second_count; i++)
		status = open_run(diff, session, second[i], true);
	if (!status)
		status = check_image_names(diff);
	return status ? status : match_images(diff);
}

void dump_diff_close(struct dump_diff *diff)
{
	for (size_t i = 0; i < diff->count; i++) {
		struct dump_diff_run *run = &diff->runs[i];

		dump_warn_of_sources(run->sources, NULL);
		flow_sources_close(run->sources);
		flow_symbols_close(run->symbols);
		flow_timeline_free(run->timeline);
		free(run->images);
		if (run->opened)
			diff->damaged |= dump_session_close(&run->session);
	}
	free(diff->runs);
	common_byte_map_free(&diff->names);
	diff->runs = NULL;
	diff->count = 0;
}

/* ---- places -------------------------------------------------------------------------------------- */

void dump_diff_place(const struct dump_diff_run *run, uint32_t image, uint64_t address, struct ptl_bytes *text)
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

void dump_diff_json_place(const struct dump_diff_run *run, uint32_t image, uint64_t address, struct common_json *json,
			  struct ptl_bytes *scratch)
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
