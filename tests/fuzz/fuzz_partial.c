/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes partial results. The first byte selects the rest: a file, whose checksums are corrected first; or records of a
 * view over a small trace, each preceded by a u16 size, from two sources in turn.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ptl/kernel.h>
#include <ptl/writer.h>

#include "analysis/call/call_report.h"
#include "analysis/call/call_view.h"
#include "analysis/difference/diff_last.h"
#include "analysis/profile/profile.h"
#include "analysis/profile/stats.h"
#include "analysis/profile/unmapped.h"
#include "dump/run/partial.h"
#include "flow/view/shard.h"
#include "format/container/layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BASE 0x400000u
#define PID 7
#define SOURCES 2

static const uint8_t code[] = {0xe8, 0, 0, 0, 0, 0xc3, 0x90, 0xc3};
static const uint8_t pt[] = {0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82,
			     0x02, 0x82, 0x02, 0x82, 0x02, 0x23, 0,    0,    0,    0,    0,    0};

static void need(bool holds)
{
	if (!holds)
		abort();
}

/* ---- files --------------------------------------------------------------------------------------- */

static void mend(uint8_t *data, size_t size)
{
	for (size_t at = DUMP_PARTIAL_HEADER_SIZE; at < size && size - at >= DUMP_PARTIAL_BLOCK_HEADER_SIZE;) {
		const uint32_t stored = common_load32(data + at + 12);
		const size_t left = size - at - DUMP_PARTIAL_BLOCK_HEADER_SIZE;
		uint8_t *header = data + at;

		if (stored <= left)
			common_store64(header + 16, format_checksum(header + DUMP_PARTIAL_BLOCK_HEADER_SIZE, stored));
		common_store64(header + 24, format_checksum(header, 24));
		if (stored > left)
			return;
		at += DUMP_PARTIAL_BLOCK_HEADER_SIZE + stored;
	}
}

static bool adds_traces(const char *command)
{
	return *command == 'c';
}

static void use_file(const uint8_t *data, size_t size)
{
	const int fd = memfd_create("part", MFD_CLOEXEC);
	uint8_t *copy = malloc(size + 1);
	struct dump_partial_set *set = NULL;
	char path[32];
	char *paths[] = {path};
	size_t damage;

	need(fd >= 0 && copy);
	if (size)
		memcpy(copy, data, size);
	mend(copy, size);
	need(common_write_all(fd, copy, size) == 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (dump_partial_set_open(paths, 1, adds_traces, &set) == 0) {
		need(dump_partial_set_description(set)->count && dump_partial_set_path_count(set));
		for (size_t i = 0; i < dump_partial_set_path_count(set); i++)
			need(dump_partial_set_path(set, i) && dump_partial_set_place(set, i));
		dump_partial_set_damage(set, &damage);
	}
	dump_partial_set_close(set);
	free(copy);
	close(fd);
}

/* ---- records ------------------------------------------------------------------------------------- */

struct world {
	struct ptl_trace *trace;
	struct flow_timeline *timeline;
	struct common_cursor records;
};

static void write_event(struct ptl_writer *writer, uint32_t stream, struct ptl_event *event)
{
	event->time = 1;
	event->cpu = PTL_NO_CPU;
	event->pid = event->tid = PTL_NO_ID;
	need(ptl_writer_event(writer, stream, event) == 0);
}

/* Writes a process, an image, and a thread with a stream. */
static void write_trace(struct ptl_writer *writer)
{
	const struct ptl_machine machine = {
		.source = "fuzz", .mode = 64, .clock = PTL_CLOCK_MONOTONIC, .tsc_multiplier = 1};
	struct ptl_stream events = {.kind = PTL_KIND_EVENTS, .cpu = PTL_NO_CPU, .pid = PTL_NO_ID, .tid = PTL_NO_ID};
	struct ptl_stream flow = {.kind = PTL_KIND_PT, .cpu = PTL_NO_CPU, .pid = PID, .tid = PID};
	const struct ptl_process_event process = {.process_id = PID, .image_file_name = "fuzz", .command_line = ""};
	const struct ptl_thread_event thread = {.process_id = PID, .thread_id = PID, .name = ""};
	struct ptl_image_event image = {
		.base = BASE, .size = 4096, .process_id = PID, .file_name = "/fuzz", .has_code = true};
	struct ptl_event event = {0};
	struct ptl_bytes storage = {0};

	need(ptl_writer_machine(writer, &machine) == 0 && ptl_writer_stream(writer, &events) == 0 &&
	     ptl_writer_stream(writer, &flow) == 0 &&
	     ptl_writer_blob(writer, PTL_BLOB_CODE, code, sizeof(code), image.code) == 0);
	need(ptl_process_encode(&process, PTL_OPCODE_START, &storage, &event) == 0);
	write_event(writer, events.id, &event);
	storage.size = 0;
	need(ptl_thread_encode(&thread, PTL_OPCODE_START, &storage, &event) == 0);
	write_event(writer, events.id, &event);
	storage.size = 0;
	need(ptl_image_encode(&image, PTL_OPCODE_LOAD, &storage, &event) == 0);
	write_event(writer, events.id, &event);
	need(ptl_writer_bytes(writer, flow.id, pt, sizeof(pt), 1) == 0 && ptl_writer_psb(writer, flow.id, 0, 1) == 0);
	common_bytes_free(&storage);
}

static void open_world(struct world *world)
{
	const int fd = memfd_create("trace", MFD_CLOEXEC);
	struct ptl_writer *writer;

	need(ptl_writer_open(dup(fd), NULL, &writer) == 0);
	write_trace(writer);
	need(ptl_writer_close(writer) == 0 && ptl_open_fd(fd, "fuzz", NULL, &world->trace) == 0 &&
	     flow_timeline_build(world->trace, &world->timeline) == 0);
}

static int open_sources(void *context, struct ptl_trace *trace, const char *view, size_t *sources)
{
	(void)context;
	(void)trace;
	(void)view;
	*sources = SOURCES;
	return 0;
}

/* The next record, whichever source is asked for. */
static int get_record(void *context, size_t source, struct ptl_bytes *record)
{
	struct world *world = context;
	const size_t size = common_read16(&world->records);
	const uint8_t *bytes = common_read_bytes(&world->records, size);

	(void)source;
	record->size = 0;
	if (!bytes)
		return PTL_CORRUPT;
	common_write_bytes(record, bytes, size);
	return 0;
}

static void load_stats(const struct world *world, const struct flow_view_options *options)
{
	const struct analysis_stats_wanted wanted = {.taken = true, .gap_limit = 5};
	struct analysis_stats stats;

	if (analysis_stats_run(world->trace, world->timeline, options, &wanted, &stats) == 0)
		analysis_stats_free(&stats);
}

static void load_unmapped(const struct world *world, const struct flow_view_options *options)
{
	struct analysis_unmapped_list list;

	if (analysis_unmapped_run(world->trace, world->timeline, options, true, &list) == 0)
		analysis_unmapped_free(&list);
}

static void load_profile(const struct world *world, const struct flow_view_options *options)
{
	struct analysis_profile profile;

	if (analysis_profile_run(world->trace, world->timeline, options, true, &profile) == 0)
		analysis_profile_free(&profile);
}

static void load_calls(const struct world *world, const struct flow_view_options *options)
{
	struct analysis_calls calls = {.timeline = world->timeline};
	struct analysis_report report = {.by = ANALYSIS_REPORT_FUNCTION, .calls = &calls};
	struct analysis_call_observer observer = analysis_report_observer;

	observer.context = &report;
	need(flow_symbols_open(world->trace, world->timeline, true, &calls.symbols) == 0 &&
	     analysis_functions_open(world->timeline, calls.symbols, &calls.functions) == 0);
	if (analysis_calls_run(world->trace, world->timeline, options, calls.functions, &observer) == 0)
		analysis_report_sort(&report, 0);
	analysis_report_free(&report);
	analysis_functions_close(calls.functions);
	flow_symbols_close(calls.symbols);
}

static void load_lasts(const struct world *world, const struct flow_view_options *options)
{
	struct analysis_diff_image images[] = {{.key = ANALYSIS_DIFF_NO_IMAGE + 1}};
	struct analysis_diff_run run = {
		.input = {.trace = world->trace, .path = "fuzz"}, .timeline = world->timeline, .images = images};
	const struct analysis_diff_item item = {.kind = ANALYSIS_DIFF_BLOCK, .place = BASE};
	struct analysis_diff_lasts lasts = {0};

	need(flow_timeline_image_count(world->timeline) == 1 &&
	     flow_symbols_open(world->trace, world->timeline, true, &run.symbols) == 0);
	if (analysis_diff_lasts_run(&run, options, &lasts) == 0)
		analysis_diff_lasts_find(&lasts, &run, &item);
	analysis_diff_lasts_free(&lasts);
	flow_symbols_close(run.symbols);
}

static void (*const views[])(const struct world *world, const struct flow_view_options *options) = {
	load_stats, load_unmapped, load_profile, load_calls, load_lasts};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct world world;
	const struct flow_shard shard = {.context = &world, .open = open_sources, .get = get_record};
	const struct flow_view_options options = {.threads = 1, .shard = &shard};
	const size_t kinds = sizeof(views) / sizeof(views[0]) + 1;

	if (!size)
		return 0;
	if (data[0] % kinds == 0) {
		use_file(data + 1, size - 1);
		return 0;
	}
	if (!world.trace)
		open_world(&world);
	world.records = common_cursor(data + 1, size - 1);
	views[data[0] % kinds - 1](&world, &options);
	return 0;
}
