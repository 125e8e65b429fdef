/* SPDX-License-Identifier: BSD-2-Clause */
/* Text and JSON of ptl-dump stats. */
#include <inttypes.h>

#include "analysis/profile/stats.h"
#include "common/sha256.h"
#include "common/text/text.h"
#include "dump/command/stats.h"
#include "dump/print/table.h"
#include "dump/print/trace_json.h"
#include "dump/run/run.h"
#include "flow/symbol/symbol.h"

struct stats_run {
	struct dump_run *run;
	const struct flow_timeline *timeline;
	const struct stats_options *options;
	const struct analysis_stats *stats;
	struct flow_symbols *symbols;
	uint64_t unmapped; /* instructions executed outside all images */
};

static const char *process_name(const struct stats_run *stats_run, uint32_t process)
{
	return flow_timeline_process_name(stats_run->timeline, process, 0);
}

/* Returns the bytes of packets that were decoded. pt_bytes counts all bytes of the streams, including lost bytes. */
static uint64_t decoded_bytes(const struct analysis_counts *counts)
{
	uint64_t missing = 0;

	for (size_t i = 0; i < FLOW_GAP_COUNT; i++)
		missing += counts->gap_bytes[i];
	return missing < counts->pt_bytes ? counts->pt_bytes - missing : 0;
}

/* ---- text ---------------------------------------------------------------------------------------- */

static const struct dump_column columns[] = {
	{"PID", true},  {"TID", true},      {"INSTRUCTIONS", true}, {"BLOCKS", true}, {"BRANCH INSNS", true},
	{"GAPS", true}, {"PT BYTES", true}, {"DECODED", true},      {"NAME", false},
};

static const struct dump_column branch_columns[] = {
	{"PID", true},          {"TID", true},     {"INSTRUCTIONS", true}, {"BLOCKS", true},
	{"BRANCH INSNS", true}, {"TAKEN", true},   {"NOT TAKEN", true},    {"GAPS", true},
	{"PT BYTES", true},     {"DECODED", true}, {"NAME", false},
};

static void count_cells(struct dump_table *table, const struct analysis_counts *counts, enum dump_style style)
{
	const bool branches = table->columns == branch_columns;

	common_text_count(&table->text, counts->instructions);
	dump_cell_text(table, style);
	common_text_count(&table->text, counts->blocks);
	dump_cell_text(table, style);
	common_text_count(&table->text, counts->branches);
	dump_cell_text(table, style);
	if (branches) {
		common_text_count(&table->text, counts->taken);
		dump_cell_text(table, style);
		common_text_count(&table->text, counts->not_taken);
		dump_cell_text(table, style);
	}
	common_text_count(&table->text, counts->gaps);
	dump_cell_text(table, counts->gaps ? DUMP_STYLE_RED : style);
	common_text_count(&table->text, counts->pt_bytes);
	dump_cell_text(table, style);
	common_text_share(&table->text, decoded_bytes(counts), counts->pt_bytes);
	dump_cell_text(table, style);
}

static void id_cell(struct dump_table *table, uint32_t id, enum dump_style style)
{
	if (id == PTL_NO_ID)
		dump_cell(table, style, "-");
	else
		dump_cell_format(table, style, "%" PRIu32, id);
}

static void text_thread(struct dump_table *table, const struct stats_run *stats_run,
			const struct analysis_thread_stats *thread)
{
	dump_cell(table, DUMP_STYLE_DIM, "");
	id_cell(table, thread->tid, DUMP_STYLE_PLAIN);
	count_cells(table, &thread->counts, DUMP_STYLE_PLAIN);
	if (thread->thread != FLOW_NONE)
		common_text_add(&table->text, flow_timeline_thread(stats_run->timeline, thread->thread)->name);
	else if (thread->cpu != PTL_NO_CPU)
		common_text_format(&table->text, "cpu %" PRIu32, thread->cpu);
	if (thread->has_hash) {
		char hash[COMMON_SHA256_TEXT_SIZE];

		common_sha256_format(thread->ip_sha256, hash);
		common_text_add(&table->text, table->text.size ? "  " : "");
		common_text_add(&table->text, hash);
	}
	dump_cell_text(table, DUMP_STYLE_DIM);
}

static int text_table(const struct stats_run *stats_run)
{
	const struct analysis_stats *stats = stats_run->stats;
	const bool branches = stats_run->options->branches;
	struct dump_table table = {
		.columns = branches ? branch_columns : columns,
		.column_count = branches ? sizeof(branch_columns) / sizeof(branch_columns[0])
					 : sizeof(columns) / sizeof(columns[0]),
	};

	for (size_t i = 0; i < stats->process_count; i++) {
		const struct analysis_process_stats *process = &stats->processes[i];

		id_cell(&table, process->pid, DUMP_STYLE_BOLD);
		dump_cell(&table, DUMP_STYLE_BOLD, "");
		count_cells(&table, &process->counts, DUMP_STYLE_BOLD);
		dump_cell(&table, DUMP_STYLE_BOLD, process_name(stats_run, process->process));
		for (size_t k = 0; k < process->thread_count; k++)
			text_thread(&table, stats_run, &process->threads[k]);
	}
	dump_cell(&table, DUMP_STYLE_BOLD, "all");
	dump_cell(&table, DUMP_STYLE_BOLD, "");
	count_cells(&table, &stats->total, DUMP_STYLE_BOLD);
	dump_cell(&table, DUMP_STYLE_BOLD, "");
	return dump_table_print(&table, stats_run->run);
}

static int text_causes(const struct stats_run *stats_run)
{
	static const struct dump_column cause_columns[] = {
		{"GAPS", true},
		{"NOT DECODED", true},
		{"CAUSE", false},
	};
	const struct analysis_counts *total = &stats_run->stats->total;
	struct dump_table table = {.columns = cause_columns, .column_count = 3};

	for (uint8_t cause = 0; cause < FLOW_GAP_COUNT; cause++) {
		if (!total->gap_causes[cause])
			continue;
		common_text_count(&table.text, total->gap_causes[cause]);
		dump_cell_text(&table, DUMP_STYLE_RED);
		common_text_size(&table.text, total->gap_bytes[cause]);
		dump_cell_text(&table, DUMP_STYLE_PLAIN);
		dump_cell(&table, DUMP_STYLE_PLAIN, flow_gap_cause_name(cause));
	}
	return dump_table_print(&table, stats_run->run);
}

/* Appends the address where the flow stopped, with its symbol. The image is looked up at the gap's time. */
static void gap_place(const struct stats_run *stats_run, const struct analysis_gap *gap, struct ptl_bytes *text)
{
	const uint64_t start = ptl_trace_machine(stats_run->run->trace)->start_time;
	struct flow_place place;

	if (!(gap->event.flags & FLOW_EVENT_HAS_FROM)) {
		common_text_add(text, "-");
		return;
	}
	common_text_hex(text, gap->event.from);
	if (gap->process != FLOW_NONE &&
	    flow_timeline_find(stats_run->timeline, gap->process, gap->event.time ? gap->event.time : start,
			       gap->event.from, &place)) {
		common_text_add(text, " ");
		flow_symbols_text(stats_run->symbols, place.image, gap->event.from, text);
	}
}

static int text_gaps(const struct stats_run *stats_run)
{
	static const struct dump_column gap_columns[] = {
		{"TIME ms", true}, {"PID", true},  {"TID", true},    {"STREAM", true},
		{"OFFSET", true},  {"SIZE", true}, {"CAUSE", false}, {"AT", false},
	};
	const uint64_t start = ptl_trace_machine(stats_run->run->trace)->start_time;
	struct dump_table table = {.columns = gap_columns, .column_count = 8};

	for (size_t i = 0; i < stats_run->stats->gap_count; i++) {
		const struct analysis_gap *gap = &stats_run->stats->gaps[i];

		common_text_time(&table.text, gap->event.time, start);
		dump_cell_text(&table, DUMP_STYLE_PLAIN);
		id_cell(&table, gap->pid, DUMP_STYLE_PLAIN);
		id_cell(&table, gap->tid, DUMP_STYLE_PLAIN);
		dump_cell_format(&table, DUMP_STYLE_PLAIN, "%" PRIu32, gap->stream);
		dump_cell_format(&table, DUMP_STYLE_PLAIN, "0x%" PRIx64, gap->event.offset);
		common_text_size(&table.text, gap->event.size);
		dump_cell_text(&table, DUMP_STYLE_PLAIN);
		dump_cell(&table, DUMP_STYLE_RED, flow_gap_cause_name(gap->event.cause));
		gap_place(stats_run, gap, &table.text);
		dump_cell_text(&table, DUMP_STYLE_PLAIN);
	}
	return dump_table_print(&table, stats_run->run);
}

/* Prints "7,881 instructions (4.1 %) ran outside any image". */
static void text_unmapped(const struct stats_run *stats_run)
{
	const uint64_t all = stats_run->stats->total.instructions;
	struct ptl_bytes text = {0};

	if (!stats_run->unmapped)
		return;
	common_text_count(&text, stats_run->unmapped);
	fprintf(stats_run->run->out, "\n%s instructions (%.1f %%) ran outside any image\n", common_text_string(&text),
		all ? 100.0 * (double)stats_run->unmapped / (double)all : 0.0);
	common_bytes_free(&text);
}

static int text_output(const struct stats_run *stats_run)
{
	const struct analysis_stats *stats = stats_run->stats;
	FILE *out = stats_run->run->out;
	int status = text_table(stats_run);

	if (status == 0)
		text_unmapped(stats_run);
	if (status < 0 || !stats->total.gaps)
		return status;
	fputc('\n', out);
	status = text_causes(stats_run);
	if (status == 0 && stats->gap_count) {
		fputc('\n', out);
		status = text_gaps(stats_run);
		if (stats->total.gaps > stats->gap_count)
			fprintf(out, "... and %" PRIu64 " more (--gaps N lists more)\n",
				stats->total.gaps - stats->gap_count);
	}
	return status;
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static void json_counts(const struct stats_run *stats_run, const struct analysis_counts *counts)
{
	struct common_json *json = &stats_run->run->json_out;

	common_json_u64(json, "instructions", counts->instructions);
	common_json_u64(json, "blocks", counts->blocks);
	common_json_u64(json, "branches", counts->branches);
	if (stats_run->options->branches) {
		common_json_u64(json, "taken", counts->taken);
		common_json_u64(json, "not_taken", counts->not_taken);
	}
	common_json_u64(json, "gaps", counts->gaps);
}

static void json_more_counts(struct common_json *json, const struct analysis_counts *counts)
{
	common_json_u64(json, "pt_bytes", counts->pt_bytes);
	common_json_u64(json, "decoded_bytes", decoded_bytes(counts));
	common_json_u64(json, "segments", counts->segments);
	common_json_u64(json, "enabled", counts->enabled);
	common_json_u64(json, "disabled", counts->disabled);
	common_json_u64(json, "async_disabled", counts->async_disabled);
	common_json_u64(json, "async_branches", counts->async_branches);
	common_json_u64(json, "overflows", counts->overflows);
	common_json_array(json, "gap_causes");
	for (uint8_t cause = 0; cause < FLOW_GAP_COUNT; cause++) {
		if (!counts->gap_causes[cause])
			continue;
		common_json_object(json, NULL);
		common_json_string(json, "cause", flow_gap_cause_name(cause));
		common_json_u64(json, "gaps", counts->gap_causes[cause]);
		common_json_u64(json, "bytes", counts->gap_bytes[cause]);
		common_json_object_end(json);
	}
	common_json_array_end(json);
}

static void json_thread(const struct stats_run *stats_run, const struct analysis_thread_stats *thread)
{
	struct common_json *json = &stats_run->run->json_out;

	common_json_object(json, NULL);
	dump_json_id_or_null(json, "tid", thread->tid);
	if (thread->cpu != PTL_NO_CPU)
		common_json_u64(json, "cpu", thread->cpu);
	json_counts(stats_run, &thread->counts);
	if (thread->has_hash) {
		char hash[COMMON_SHA256_TEXT_SIZE];

		common_sha256_format(thread->ip_sha256, hash);
		common_json_string(json, "ip_sha256", hash);
	}
	json_more_counts(json, &thread->counts);
	common_json_object_end(json);
}

static void json_process(const struct stats_run *stats_run, const struct analysis_process_stats *process)
{
	struct common_json *json = &stats_run->run->json_out;

	common_json_object(json, NULL);
	dump_json_id_or_null(json, "pid", process->pid);
	common_json_string(json, "name", process_name(stats_run, process->process));
	json_counts(stats_run, &process->counts);
	common_json_array(json, "threads");
	for (size_t i = 0; i < process->thread_count; i++)
		json_thread(stats_run, &process->threads[i]);
	common_json_array_end(json);
	common_json_object_end(json);
}

static void json_gap(const struct stats_run *stats_run, const struct analysis_gap *gap)
{
	struct common_json *json = &stats_run->run->json_out;

	common_json_object(json, NULL);
	dump_json_time(stats_run->run, "time", gap->event.time);
	dump_json_id_or_null(json, "pid", gap->pid);
	dump_json_id_or_null(json, "tid", gap->tid);
	common_json_u64(json, "stream", gap->stream);
	common_json_u64(json, "offset", gap->event.offset);
	common_json_u64(json, "bytes", gap->event.size);
	common_json_string(json, "cause", flow_gap_cause_name(gap->event.cause));
	if (gap->event.flags & FLOW_EVENT_HAS_FROM)
		common_json_hex(json, "ip", gap->event.from);
	common_json_object_end(json);
}

static int json_output(const struct stats_run *stats_run)
{
	struct common_json *json = &stats_run->run->json_out;
	const struct analysis_stats *stats = stats_run->stats;

	common_json_object(json, NULL);
	json_counts(stats_run, &stats->total);
	common_json_array(json, "processes");
	for (size_t i = 0; i < stats->process_count; i++)
		json_process(stats_run, &stats->processes[i]);
	common_json_array_end(json);
	json_more_counts(json, &stats->total);
	common_json_u64(json, "unmapped_instructions", stats_run->unmapped);
	common_json_array(json, "gap_list");
	for (size_t i = 0; i < stats->gap_count; i++)
		json_gap(stats_run, &stats->gaps[i]);
	common_json_array_end(json);
	common_json_object_end(json);
	common_json_line(json);
	return 0;
}

int dump_stats_print(struct dump_run *run, const struct flow_timeline *timeline, const struct analysis_stats *stats,
		     uint64_t unmapped)
{
	struct stats_run stats_run = {
		.run = run,
		.timeline = timeline,
		.options = (const struct stats_options *)run->options,
		.stats = stats,
		.unmapped = unmapped,
	};
	int status = flow_symbols_open(run->trace, timeline, dump_run_names(run), &stats_run.symbols);

	if (status == 0)
		status = run->options->json ? json_output(&stats_run) : text_output(&stats_run);
	flow_symbols_close(stats_run.symbols);
	return status;
}
