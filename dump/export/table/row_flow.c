/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables of gaps in the flow and of source lines. The list of all tables. */
#include "analysis/coverage/coverage.h"
#include "analysis/profile/stats.h"
#include "dump/export/table/row.h"
#include "dump/run/run.h"

/* ---- gaps ---------------------------------------------------------------------------------------- */

static const struct analysis_gap *gap_of(const struct dump_row *row)
{
	return row->item;
}

static void get_pid(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_id(value, gap_of(row)->pid);
}

static void get_tid(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_id(value, gap_of(row)->tid);
}

static void get_stream(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, gap_of(row)->stream);
}

static void get_offset(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, gap_of(row)->event.offset);
}

static void get_bytes(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, gap_of(row)->event.size);
}

static void get_time(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_time(row, value, gap_of(row)->event.time);
}

static void get_wall(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_wall(row, value, gap_of(row)->event.time);
}

static void get_cause(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_text(value, flow_gap_cause_name(gap_of(row)->event.cause));
}

static void get_ip(struct dump_row *row, struct dump_row_value *value)
{
	value->is_null = !(gap_of(row)->event.flags & FLOW_EVENT_HAS_FROM);
	value->number = gap_of(row)->event.from;
}

/* Sets the value to the build id of the image in which the flow stopped. */
static void get_build_id(struct dump_row *row, struct dump_row_value *value)
{
	const struct analysis_gap *gap = gap_of(row);
	const uint64_t start = ptl_trace_machine(row->trace->run->trace)->start_time;
	struct flow_place place = {.image = FLOW_NONE};

	if (gap->process == FLOW_NONE || !(gap->event.flags & FLOW_EVENT_HAS_FROM) ||
	    !flow_timeline_find(row->trace->timeline, gap->process, gap->event.time ? gap->event.time : start,
				gap->event.from, &place))
		place.image = FLOW_NONE;
	dump_row_build_id(row, value, place.image);
}

static const struct dump_row_column gap_columns[] = {
	{"pid", DUMP_ROW_UNSIGNED, true, 0, get_pid},        {"tid", DUMP_ROW_UNSIGNED, true, 0, get_tid},
	{"stream", DUMP_ROW_UNSIGNED, false, 0, get_stream}, {"offset", DUMP_ROW_UNSIGNED, false, 0, get_offset},
	{"bytes", DUMP_ROW_UNSIGNED, false, 0, get_bytes},   {"time", DUMP_ROW_SIGNED, true, 0, get_time},
	{"cause", DUMP_ROW_TEXT, false, 0, get_cause},       {"ip", DUMP_ROW_ADDRESS, true, 0, get_ip},
	{"build_id", DUMP_ROW_TEXT, true, 0, get_build_id},  {"wall_time", DUMP_ROW_WALL, true, 0, get_wall},
};

static int gap_rows(struct dump_row_writer *writer, struct dump_row_trace *trace)
{
	const struct flow_view_options options = dump_run_view_options(trace->run);
	const struct analysis_stats_wanted wanted = {.gap_limit = SIZE_MAX};
	struct analysis_stats stats = {0};
	int status = analysis_stats_run(trace->run->trace, trace->timeline, &options, &wanted, &stats);

	for (size_t i = 0; status == 0 && i < stats.gap_count; i++)
		status = dump_row_write(writer, &stats.gaps[i]);
	analysis_stats_free(&stats);
	return status;
}

const struct dump_row_table dump_row_gaps = {"gaps",  gap_columns, sizeof(gap_columns) / sizeof(gap_columns[0]),
					     "cause", true,        gap_rows};

/* ---- coverage ------------------------------------------------------------------------------------ */

struct line {
	const struct analysis_covered_file *file;
	const struct analysis_covered_line *line;
};

static void get_source(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_text(value, ((const struct line *)row->item)->file->path);
}

static void get_line(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, ((const struct line *)row->item)->line->line);
}

static void get_count(struct dump_row *row, struct dump_row_value *value)
{
	dump_row_number(value, ((const struct line *)row->item)->line->count);
}

static const struct dump_row_column coverage_columns[] = {
	{"source", DUMP_ROW_TEXT, false, 0, get_source},
	{"line", DUMP_ROW_UNSIGNED, false, 0, get_line},
	{"count", DUMP_ROW_UNSIGNED, false, 0, get_count},
};

static int coverage_rows(struct dump_row_writer *writer, struct dump_row_trace *trace)
{
	struct analysis_coverage coverage = {.libraries = trace->run->options->filter.images.count};
	int status = dump_run_cover(trace->run, &coverage);

	if (status == 0)
		status = analysis_coverage_finish(&coverage);
	for (size_t i = 0; status == 0 && i < coverage.file_count; i++)
		for (size_t k = 0; status == 0 && k < coverage.files[i].line_count; k++) {
			const struct line line = {&coverage.files[i], &coverage.files[i].lines[k]};

			status = dump_row_write(writer, &line);
		}
	analysis_coverage_free(&coverage);
	return status;
}

const struct dump_row_table dump_row_coverage = {
	"coverage", coverage_columns, sizeof(coverage_columns) / sizeof(coverage_columns[0]), "source, line",
	true,       coverage_rows};

/* ---- list of all tables -------------------------------------------------------------------------- */

const struct dump_row_table *const dump_row_tables[] = {&dump_row_traces,
							&dump_row_processes,
							&dump_row_threads,
							&dump_row_images,
							&dump_row_events,
							&dump_row_calls,
							&dump_row_gaps,
							&dump_row_losses,
							&dump_row_profile,
							&dump_row_coverage,
							NULL};
