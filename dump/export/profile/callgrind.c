/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes calls in the format of callgrind: https://valgrind.org/docs/manual/cl-format.html */
#include "dump/export/profile/callgrind.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text/text.h"
#include "common/vector.h"
#include "common/version.h"
#include "dump/export/profile/line_count.h"

/* A function, or all calls from one function to another. */
struct item {
	uint64_t calls, instructions, time;
	uint32_t caller, callee; /* numbers of functions in the output, from 0 */
};

struct list {
	struct item *items; /* owned */
	size_t count, capacity;
};

/* Totals of a path, including callees. */
struct sum {
	uint64_t instructions, time;
};

struct callgrind {
	struct dump_run *run;
	const struct analysis_paths *paths;
	const struct analysis_samples *samples;
	struct list functions;                         /* callee: number in the function table */
	struct analysis_path_numbers function_numbers; /* index in the list, from 1 */
	struct list edges;
	struct common_hash_map edge_numbers; /* index by caller and callee */
	uint32_t *ids;                       /* by node: its function */
	struct sum *sums;                    /* by node */
	struct common_byte_map files;        /* images by path: number, from 1 */
	size_t file_count;
	bool by_line;
	struct dump_function_lines lines;
	struct dump_line_counts counts;
	struct common_byte_map sources; /* source files by path: number, from 2; 1 stands for no file */
	size_t source_count;
};

static int add_item(struct list *list, uint32_t *number)
{
	const int status = COMMON_VECTOR_RESERVE(list->items, list->capacity, list->count + 1, "functions");

	if (status < 0)
		return status;
	*number = (uint32_t)list->count++;
	list->items[*number] = (struct item){0};
	return 0;
}

static int find_function(struct callgrind *callgrind, uint32_t function, uint32_t *number)
{
	uint32_t *known = analysis_path_number(&callgrind->function_numbers, function);

	if (!*known) {
		const int status = add_item(&callgrind->functions, number);
		if (status < 0)
			return status;
		callgrind->functions.items[*number].callee = function;
		*known = *number + 1;
	}
	*number = *known - 1;
	return 0;
}

static int find_edge(struct callgrind *callgrind, uint32_t caller, uint32_t callee, struct item **edge)
{
	const uint64_t key = (uint64_t)caller << 32 | callee;
	const uint64_t *known = common_hash_map_get(&callgrind->edge_numbers, key);
	uint32_t number = known ? (uint32_t)*known : 0;
	int status = 0;

	if (!known) {
		status = add_item(&callgrind->edges, &number);
		if (status == 0)
			status = common_hash_map_put(&callgrind->edge_numbers, key, number);
		if (status < 0)
			return status;
		callgrind->edges.items[number].caller = caller;
		callgrind->edges.items[number].callee = callee;
	}
	*edge = &callgrind->edges.items[number];
	return 0;
}

/* ---- sums ---------------------------------------------------------------------------------------- */

static int add_function(struct callgrind *callgrind, size_t at)
{
	const struct analysis_path_node *node = &callgrind->paths->tree.nodes[at];
	/* Self values of a root belong to no function. */
	const uint32_t function = node->parent ? node->function : ANALYSIS_NO_FUNCTION;
	const int status = find_function(callgrind, function, &callgrind->ids[at]);
	struct item *item;

	if (status < 0)
		return status;
	item = &callgrind->functions.items[callgrind->ids[at]];
	item->instructions += node->self_instructions;
	item->time += node->self_time;
	callgrind->sums[at].instructions += node->self_instructions;
	callgrind->sums[at].time += node->self_time;
	return 0;
}

/*
 * Adds the call from a node's parent to the node. Nodes are visited in reverse order: descendants of a node follow the
 * node.
 */
static int add_edge(struct callgrind *callgrind, size_t at)
{
	const struct analysis_path_node *node = &callgrind->paths->tree.nodes[at];
	const struct sum *sum = &callgrind->sums[at];
	struct item *item;
	int status;

	if (!node->parent || !callgrind->paths->tree.nodes[node->parent].parent)
		return 0;
	status = find_edge(callgrind, callgrind->ids[node->parent], callgrind->ids[at], &item);
	if (status < 0)
		return status;
	item->calls += callgrind->samples->count ? 0 : node->calls;
	item->instructions += sum->instructions;
	item->time += sum->time;
	callgrind->sums[node->parent].instructions += sum->instructions;
	callgrind->sums[node->parent].time += sum->time;
	return 0;
}

static int compare_edges(const void *a_, const void *b_)
{
	const struct item *a = a_, *b = b_;

	if (a->caller != b->caller)
		return a->caller < b->caller ? -1 : 1;
	return (a->callee > b->callee) - (a->callee < b->callee);
}

static int add_up(struct callgrind *callgrind)
{
	const size_t count = callgrind->paths->tree.count;
	int status = 0;

	for (size_t i = 1; status == 0 && i < count; i++)
		if (callgrind->paths->tree.nodes[i].parent || callgrind->paths->tree.nodes[i].self_instructions)
			status = add_function(callgrind, i);
	for (size_t i = count; status == 0 && i-- > 1;)
		status = add_edge(callgrind, i);
	if (callgrind->edges.count)
		qsort(callgrind->edges.items, callgrind->edges.count, sizeof(struct item), compare_edges);
	return status;
}

/* ---- output -------------------------------------------------------------------------------------- */

/* Appends "ob=(1) /usr/bin/gzip" at the first use, then "ob=(1)". */
static int write_object(struct callgrind *callgrind, const char *prefix, const char *path, struct ptl_bytes *text)
{
	const uint64_t *known = common_byte_map_get(&callgrind->files, path, strlen(path));

	if (known) {
		common_text_format(text, "%s(%" PRIu64 ")\n", prefix, *known);
		return 0;
	}
	common_text_format(text, "%s(%zu) ", prefix, ++callgrind->file_count);
	if (*path)
		common_text_safe(text, path);
	else
		common_text_add(text, "[no image]");
	common_text_add(text, "\n");
	return common_byte_map_put(&callgrind->files, path, strlen(path), callgrind->file_count);
}

/* Appends "fl=(2) /usr/src/a.c" at the first use, then "fl=(2)". */
static int write_source(struct callgrind *callgrind, const char *prefix, const char *path, struct ptl_bytes *text)
{
	const uint64_t *known = common_byte_map_get(&callgrind->sources, path, strlen(path));

	if (known) {
		common_text_format(text, "%s(%" PRIu64 ")\n", prefix, *known);
		return 0;
	}
	common_text_format(text, "%s(%zu) ", prefix, ++callgrind->source_count);
	common_text_safe(text, path);
	common_text_add(text, "\n");
	return common_byte_map_put(&callgrind->sources, path, strlen(path), callgrind->source_count);
}

/*
 * Appends the source file of a function, "fl=(2) a.c", and sets its first line; "fl=(1)" and 0 if unknown or not
 * requested.
 */
static int write_place(struct callgrind *callgrind, const char *prefix, uint32_t function, struct ptl_bytes *text,
		       uint32_t *line)
{
	const char *path;

	*line = 0;
	if (callgrind->by_line &&
	    dump_function_line(&callgrind->lines, analysis_function(callgrind->paths->calls->functions, function),
			       &path, line))
		return write_source(callgrind, prefix, path, text);
	common_text_format(text, "%s(1)\n", prefix);
	return 0;
}

/*
 * Appends the instructions of a function by line. Instructions without a known line, and all time, are assigned to the
 * function's first line.
 */
static int write_lines(struct callgrind *callgrind, const struct item *item, uint32_t first, struct ptl_bytes *text)
{
	size_t count;
	const struct dump_line_count *lines = dump_line_counts_of(&callgrind->counts, item->callee, item->instructions,
								  &count);
	uint64_t left = item->instructions;
	const char *file = NULL;
	int status = 0;

	for (size_t i = 0; i < count; i++)
		left -= lines[i].instructions;
	common_text_format(text, "%" PRIu32 " %" PRIu64 " %" PRIu64 "\n", first, left, item->time);
	for (size_t i = 0; status == 0 && i < count; i++) {
		/* Inlined code may come from another file. */
		if (!file || strcmp(file, lines[i].file) != 0)
			status = write_source(callgrind, "fi=", lines[i].file, text);
		file = lines[i].file;
		common_text_format(text, "%" PRIu32 " %" PRIu64 " 0\n", lines[i].line, lines[i].instructions);
	}
	return status;
}

/* Writes a function. Functions are written in the order of their numbers, before any reference. */
static int write_function(struct callgrind *callgrind, uint32_t number, struct ptl_bytes *text)
{
	const struct item *item = &callgrind->functions.items[number];
	uint32_t line = 0;
	int status = write_object(
		callgrind, "ob=", analysis_function(callgrind->paths->calls->functions, item->callee)->path, text);

	if (status == 0)
		status = write_place(callgrind, "fl=", item->callee, text, &line);
	common_text_format(text, "fn=(%" PRIu32 ") ", number + 1);
	analysis_path_function_text(callgrind->paths, item->callee, text);
	common_text_add(text, "\n");
	return status ? status : write_lines(callgrind, item, line, text);
}

/* Writes a call. line: the caller's first line, since the line of the call is unknown. */
static int write_edge(struct callgrind *callgrind, const struct item *edge, uint32_t line, struct ptl_bytes *text)
{
	const uint32_t function = callgrind->functions.items[edge->callee].callee;
	uint32_t target = 0;
	int status = write_object(callgrind,
				  "cob=", analysis_function(callgrind->paths->calls->functions, function)->path, text);

	if (status == 0)
		status = write_place(callgrind, "cfi=", function, text, &target);
	common_text_format(
		text, "cfn=(%" PRIu32 ")\ncalls=%" PRIu64 " %" PRIu32 "\n%" PRIu32 " %" PRIu64 " %" PRIu64 "\n",
		edge->callee + 1, edge->calls ? edge->calls : 1, target, line, edge->instructions, edge->time);
	return status;
}

static void write_head(struct callgrind *callgrind, struct dump_left_out *left_out, struct ptl_bytes *text)
{
	const char *words = dump_left_out_text(left_out);

	common_text_add(text, "# callgrind format\nversion: 1\ncreator: ptl-dump " COMMON_VERSION "\ncmd: ");
	common_text_safe(text, callgrind->run->path);
	common_text_add(text, "\npart: 1\n");
	if (words) {
		common_text_add(text, "desc: Left out: ");
		common_text_add(text, words);
		common_text_add(text, "\n");
	}
	common_text_add(text, "positions: line\n");
	if (!callgrind->samples->count)
		common_text_add(text, "event: Ir : Instructions\nevent: ns : Time in nanoseconds\nevents: Ir ns\n\n");
	else
		common_text_format(text,
				   "event: Samples : Samples of %s\nevent: Periods : %s\nevents: Samples Periods\n\n",
				   callgrind->samples->name, analysis_samples_unit(callgrind->samples));
	common_text_add(text, "fl=(1) ???\n");
}

static void write_totals(const struct callgrind *callgrind, struct ptl_bytes *text)
{
	uint64_t instructions = 0, time = 0;

	for (size_t i = 0; i < callgrind->functions.count; i++) {
		instructions += callgrind->functions.items[i].instructions;
		time += callgrind->functions.items[i].time;
	}
	common_text_format(text, "\ntotals: %" PRIu64 " %" PRIu64 "\n", instructions, time);
}

/* Writes the file. Calls follow after all functions, since names must precede references. */
static int write_callgrind(struct callgrind *callgrind, struct dump_left_out *left_out)
{
	struct ptl_bytes text = {0};
	uint32_t caller = UINT32_MAX, line = 0;
	int status = 0;

	write_head(callgrind, left_out, &text);
	for (size_t i = 0; status == 0 && i < callgrind->functions.count; i++)
		status = write_function(callgrind, (uint32_t)i, &text);
	for (size_t i = 0; status == 0 && i < callgrind->edges.count; i++) {
		const struct item *edge = &callgrind->edges.items[i];
		const uint32_t function = callgrind->functions.items[edge->caller].callee;

		if (edge->caller != caller) {
			status = write_object(
				callgrind, "ob=", analysis_function(callgrind->paths->calls->functions, function)->path,
				&text);
			if (status == 0)
				status = write_place(callgrind, "fl=", function, &text, &line);
			common_text_format(&text, "fn=(%" PRIu32 ")\n", edge->caller + 1);
		}
		caller = edge->caller;
		if (status == 0)
			status = write_edge(callgrind, edge, line, &text);
		common_text_write(&text, callgrind->run->out);
		text.size = 0;
	}
	write_totals(callgrind, &text);
	common_text_write(&text, callgrind->run->out);
	if (status == 0 && text.failed)
		status = common_fail_memory("functions", text.size);
	common_bytes_free(&text);
	return status;
}

int dump_callgrind(struct dump_run *run, const struct dump_path_run *path_run, bool lines,
		   struct dump_left_out *left_out)
{
	const struct analysis_paths *paths = &path_run->paths;
	struct callgrind callgrind = {
		.run = run, .paths = paths, .samples = &path_run->samples, .by_line = lines, .source_count = 1};
	const size_t count = paths->tree.count;
	int status;

	callgrind.ids = calloc(count + 1, sizeof(*callgrind.ids));
	callgrind.sums = calloc(count + 1, sizeof(*callgrind.sums));
	status = callgrind.ids && callgrind.sums
			 ? analysis_path_numbers_open(&callgrind.function_numbers, paths)
			 : common_fail_memory("paths of calls", count * sizeof(*callgrind.sums));
	if (status == 0)
		status = add_up(&callgrind);
	if (status == 0)
		status = dump_function_lines_open(&callgrind.lines, paths->calls);
	if (status == 0 && lines)
		status = dump_line_counts_make(&callgrind.counts, &callgrind.lines, false);
	if (status == 0)
		status = write_callgrind(&callgrind, left_out);
	dump_line_counts_free(&callgrind.counts);
	dump_function_lines_close(&callgrind.lines);
	free(callgrind.ids);
	free(callgrind.sums);
	free(callgrind.functions.items);
	free(callgrind.edges.items);
	analysis_path_numbers_close(&callgrind.function_numbers);
	common_hash_map_free(&callgrind.edge_numbers);
	common_byte_map_free(&callgrind.files);
	common_byte_map_free(&callgrind.sources);
	return status;
}
