/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump images: mapped images of each process, with addresses and times. */
#include "dump/command/images.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/error.h"
#include "common/text/text.h"
#include "dump/command/commands.h"
#include "dump/print/status.h"
#include "dump/print/table.h"
#include "dump/print/trace_json.h"
#include "dump/run/run.h"

#define BUILD_ID_SHOWN 8 /* bytes shown in the table; JSON has all bytes */

struct images_options {
	struct dump_options shared; /* must come first: see dump/run/command.h */
	bool unmapped;
};

struct images {
	struct dump_run *run;
	const struct flow_timeline *timeline;
	const struct image_output *output;
	struct dump_table table;
};

struct image_output {
	void (*image)(struct images *images, const struct flow_timeline_process *process,
		      const struct flow_timeline_image *image);
	int (*end)(struct images *images);
};

static int images_check(const struct dump_options *shared)
{
	const struct images_options *options = (const struct images_options *)shared;

	if (options->unmapped && shared->filter.images.count)
		return common_fail(PTL_MISUSE, "--unmapped shows what lies in no image: it does not go "
					       "with --image");
	return 0;
}

static const struct common_option own_options[] = {
	{"", 0, NULL, "What is shown:"},
	{"unmapped", 'u', NULL,
	 "Executed addresses that no image covers instead, those that cost most first. This decodes "
	 "the trace.",
	 COMMON_FLAG(struct images_options, unmapped)},
	{NULL},
};

/* ---- text ---------------------------------------------------------------------------------------- */

static const struct dump_column columns[] = {
	{"PID", true},       {"BASE", true},        {"SIZE", true},    {"OFFSET", true},    {"PROT", false},
	{"LOADED ms", true}, {"UNLOADED ms", true}, {"STORED", false}, {"BUILD ID", false}, {"PATH", false},
};

/* Whether the trace has the image's code. Otherwise, the mapped file would be used. */
static bool code_stored(const struct images *images, const struct ptl_image_event *data)
{
	return data->has_code && ptl_blob_find(images->run->trace, data->code);
}

/* Maximum places visited per image in a hostile file. Only overlapping images have adjacent places without code. */
#define PLACES_MAX 64

/*
 * Whether code of the image was captured at run time, at the image's end: code that no file has, or that was modified.
 */
static bool code_captured(const struct images *images, const struct flow_timeline_image *image)
{
	const uint64_t last = image->data.base + image->data.size - 1;
	const uint64_t time = image->end > image->start ? image->end - 1 : image->start;
	struct flow_place place = {.last = image->data.base - 1};

	for (unsigned i = 0; i < PLACES_MAX && (!i || place.last < last); i++)
		if (flow_timeline_find(images->timeline, image->process, time, place.last + 1, &place) &&
		    place.has_code && place.code_event)
			return true;
	return false;
}

/* Adds a cell: the parts of the image that the trace contains. */
static void stored_cell(struct images *images, const struct flow_timeline_image *image)
{
	const struct ptl_image_event *data = &image->data;
	struct dump_table *table = &images->table;
	const bool stored = code_stored(images, data), code = stored || code_captured(images, image);

	if (code)
		common_text_add(&table->text, stored ? "code" : "captured");
	if (data->has_symbols)
		common_text_add(&table->text, code ? "+symbols" : "symbols");
	if (data->has_debug)
		common_text_add(&table->text, code || data->has_symbols ? "+debug" : "debug");
	if (!table->text.size)
		common_text_add(&table->text, "nothing");
	dump_cell_text(table, code ? DUMP_STYLE_PLAIN : DUMP_STYLE_RED);
}

static void text_image(struct images *images, const struct flow_timeline_process *process,
		       const struct flow_timeline_image *image)
{
	const uint64_t start_time = ptl_trace_machine(images->run->trace)->start_time;
	const struct ptl_image_event *data = &image->data;
	struct dump_table *table = &images->table;
	char room[4];

	dump_cell_format(table, DUMP_STYLE_BOLD, "%" PRIu32, process->pid);
	dump_cell_format(table, DUMP_STYLE_PLAIN, "%" PRIx64, data->base);
	dump_cell_format(table, DUMP_STYLE_PLAIN, "%" PRIx64, data->size);
	dump_cell_format(table, DUMP_STYLE_PLAIN, "%" PRIx64, data->file_offset);
	dump_cell(table, DUMP_STYLE_PLAIN, dump_protection(data->protection, room));
	dump_cell_time(table, image->rundown ? 0 : image->start, start_time, "before");
	dump_cell_time(table, image->end == FLOW_TIME_END ? 0 : image->end, start_time, "-");
	stored_cell(images, image);
	if (data->build_id_size)
		common_text_hex_bytes(&table->text, data->build_id,
				      data->build_id_size < BUILD_ID_SHOWN ? data->build_id_size : BUILD_ID_SHOWN);
	else
		common_text_add(&table->text, "-");
	dump_cell_text(table, DUMP_STYLE_DIM);
	dump_cell(table, DUMP_STYLE_PLAIN, data->file_name);
}

static int text_end(struct images *images)
{
	return dump_table_print(&images->table, images->run);
}

static const struct image_output text_output = {text_image, text_end};

/* ---- JSON ---------------------------------------------------------------------------------------- */

static void json_image(struct images *images, const struct flow_timeline_process *process,
		       const struct flow_timeline_image *image)
{
	struct common_json *json = &images->run->json_out;
	const struct ptl_image_event *data = &image->data;
	char room[4];

	common_json_object(json, NULL);
	common_json_u64(json, "pid", process->pid);
	common_json_string(json, "process", process->name);
	common_json_hex(json, "base", data->base);
	common_json_u64(json, "size", data->size);
	common_json_u64(json, "file_offset", data->file_offset);
	common_json_hex(json, "default_base", data->default_base);
	common_json_string(json, "protection", dump_protection(data->protection, room));
	common_json_string(json, "path", data->file_name);
	dump_json_bytes(json, "build_id", data->build_id, data->build_id_size);
	dump_json_time(images->run, "loaded", image->rundown ? 0 : image->start);
	dump_json_time(images->run, "unloaded", image->end == FLOW_TIME_END ? 0 : image->end);
	common_json_bool(json, "inherited", image->inherited);
	dump_json_bytes(json, "code", data->code, data->has_code ? PTL_HASH_SIZE : 0);
	common_json_bool(json, "code_stored", code_stored(images, data));
	common_json_bool(json, "code_captured", code_captured(images, image));
	dump_json_bytes(json, "symbols", data->symbols, data->has_symbols ? PTL_HASH_SIZE : 0);
	dump_json_bytes(json, "debug", data->debug, data->has_debug ? PTL_HASH_SIZE : 0);
	common_json_object_end(json);
	common_json_line(json);
}

static int json_end(struct images *images)
{
	(void)images;
	return 0;
}

static const struct image_output json_output = {json_image, json_end};

/* ---- list of images ------------------------------------------------------------------------------ */

static bool is_wanted_image(const struct images *images, const struct flow_timeline_process *process,
			    const struct flow_timeline_image *image)
{
	const struct analysis_filter *filter = &images->run->options->filter;

	return common_id_set_has(&filter->pids, process->pid) && image->start <= filter->last_time &&
	       image->end >= filter->first_time && analysis_filter_wants_image(filter, image->data.file_name);
}

static int show_images(struct images *images)
{
	const size_t count = flow_timeline_process_count(images->timeline);
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		const struct flow_timeline_process *process = flow_timeline_process(images->timeline, i);

		for (size_t k = 0; k < process->image_count; k++) {
			const struct flow_timeline_image *image = flow_timeline_image(images->timeline,
										      process->images[k]);

			if (!is_wanted_image(images, process, image))
				continue;
			images->output->image(images, process, image);
			any = true;
		}
	}
	if (!any)
		dump_run_note_nothing(images->run, "images", flow_timeline_image_count(images->timeline) > 0);
	return images->output->end(images);
}

static int images_run(struct dump_run *run)
{
	const struct images_options *options = (const struct images_options *)run->options;
	struct images images = {
		.run = run,
		.output = run->options->json ? &json_output : &text_output,
		.table = {.columns = columns, .column_count = sizeof(columns) / sizeof(columns[0])},
	};
	struct flow_timeline *timeline;
	bool *wanted = NULL;
	int status = dump_run_timeline(run, &timeline);

	if (status < 0)
		return status;
	images.timeline = timeline;
	if (!options->unmapped)
		status = dump_run_images(run, timeline, &wanted);
	free(wanted);
	if (!status)
		status = options->unmapped ? dump_images_unmapped(run, timeline) : show_images(&images);
	flow_timeline_free(timeline);
	return status;
}

const struct dump_command dump_command_images = {
	.name = "images",
	.summary = "the code that each process had mapped, and when",
	.details = "Lists the images (mappings of code) of each process over time: where they lie, "
		   "what file they are of, and what of them is stored in the trace.",
	.examples = "ptl-dump images build.ptl\n"
		    "ptl-dump images --pid 4711 --image 'libc*' build.ptl\n"
		    "ptl-dump images --unmapped build.ptl   code that nobody could name",
	.takes = DUMP_TAKES_PROCESS | DUMP_TAKES_CPU | DUMP_TAKES_TIME | DUMP_TAKES_IMAGE | DUMP_TAKES_DECODE,
	.options = own_options,
	.options_size = sizeof(struct images_options),
	.check = images_check,
	.run = images_run,
};
