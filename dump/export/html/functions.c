/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the functions of a page, and the tree of their paths. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text/text.h"
#include "dump/export/html/html.h"
#include "dump/export/html/sources.h"

/* ---- functions ----------------------------------------------------------------------------------- */

/* Writes a row as an array, which takes half the bytes of an object. Returns false if the row does not fit. */
static bool put_row(const struct dump_html *html, struct common_json *json, const struct dump_html_trace *trace,
		    const struct analysis_report_row *row, struct ptl_bytes *text)
{
	const struct analysis_function *function = analysis_function(trace->path_run.calls.functions, row->function);

	text->size = 0;
	analysis_path_function_text(&trace->path_run.paths, row->function, text);
	if (!dump_html_fits(&html->room, text->size + strlen(function->path)))
		return false;
	common_json_array(json, NULL);
	common_json_string(json, NULL, common_text_string(text));
	common_json_string(json, NULL, function->path);
	common_json_hex(json, NULL, function->address);
	common_json_u64(json, NULL, row->calls);
	common_json_u64(json, NULL, row->total_instructions);
	common_json_u64(json, NULL, row->self_instructions);
	common_json_u64(json, NULL, row->total_time);
	common_json_u64(json, NULL, row->self_time);
	common_json_array_end(json);
	return true;
}

void dump_html_functions(struct dump_html *html, struct dump_run *run, struct dump_html_trace *trace)
{
	static const char *const columns[] = {
		"name",       "image",    "address", "calls", "total_instructions", "self_instructions",
		"total_time", "self_time"};
	const struct analysis_report *report = &trace->report;
	const uint64_t limit = html->limits->functions;
	struct common_json *json = &run->json_out;
	struct ptl_bytes text = {0};
	size_t count = 0;

	common_json_object(json, NULL);
	common_json_bool(json, "timed", report->timed);
	common_json_array(json, "columns");
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		common_json_string(json, NULL, columns[i]);
	common_json_array_end(json);
	common_json_array(json, "rows");
	while (count < report->count && count < limit && put_row(html, json, trace, &report->rows[count], &text))
		count++;
	common_json_array_end(json);
	common_json_object_end(json);
	common_bytes_free(&text);
	trace->function_count = count;
	dump_left_out_add(&html->left_out, report->count - count, "function that ran least",
			  "functions that ran least");
}

uint32_t *dump_html_function_rows(const struct dump_html_trace *trace, size_t *count)
{
	const struct analysis_report *report = &trace->report;
	uint32_t *rows;

	*count = analysis_functions_count(trace->path_run.calls.functions) + 1;
	rows = calloc(*count, sizeof(*rows));
	for (size_t i = 0; rows && i < trace->function_count; i++)
		rows[(uint32_t)(report->rows[i].function + 1)] = (uint32_t)i + 1;
	return rows;
}

/* Whether an image is a library of the system, as is_system of calls.js. */
static bool is_system(const char *path)
{
	const bool in_folder = strncmp(path, "/lib", 4) == 0 || strncmp(path, "/usr/lib", 8) == 0;
	const char *end = strstr(common_base_name(path), ".so");

	return *path == '[' || (in_folder && end && (end[3] == 0 || end[3] == '.'));
}

/*
 * Writes the source of the first functions that have a name and a file. Functions of the program itself come first, so
 * that they have room.
 */
int dump_html_sources(struct dump_html *html, struct dump_run *run, const struct dump_html_trace *trace)
{
	const uint64_t limit = html->limits->sources;
	const struct analysis_report *report = &trace->report;
	struct dump_html_source *sources = calloc(limit + 1, sizeof(*sources));
	size_t count = 0, cut = 0;
	int status;

	if (!sources)
		return common_fail_memory("functions", limit * sizeof(*sources));
	for (size_t i = 0; i < 2 * report->count; i++) {
		const struct analysis_report_row *row = &report->rows[i % report->count];
		const struct analysis_function *function = analysis_function(trace->path_run.calls.functions,
									     row->function);

		/* Program functions need no executed instruction: the first instruction may fail. */
		if (!*function->name || !*function->path || is_system(function->path) != (i >= report->count) ||
		    (i >= report->count && !row->self_instructions))
			continue;
		if (count == limit)
			cut += i < report->count;
		else
			sources[count++] = (struct dump_html_source){function->name, function->path};
	}
	status = dump_html_annotations(run, trace->path_run.calls.timeline, sources, count, &html->room,
				       &html->left_out);
	dump_left_out_add(&html->left_out, cut, "source of a function of the program",
			  "sources of functions of the program");
	free(sources);
	return status;
}

/* ---- paths --------------------------------------------------------------------------------------- */

/* Working data of a node. */
struct sums {
	uint64_t time, instructions; /* totals, including callees */
	uint64_t weight;             /* the larger share of time and instructions, as a fraction of the whole */
	uint32_t place;              /* number in the page, from 1; 0: left out */
};

#define NODE_BYTES 20 /* six numbers, which need no escapes */
#define WHOLE ((double)((uint64_t)1 << 53))

static int compare_down(const void *a_, const void *b_)
{
	const uint64_t a = *(const uint64_t *)a_, b = *(const uint64_t *)b_;

	return a > b ? -1 : a < b;
}

/* Computes totals and weights. A node follows its parent, and its weight is not larger. */
static void weigh(const struct analysis_path_tree *tree, struct sums *sums)
{
	double time, instructions;

	for (size_t i = tree->count; i-- > 1;) {
		sums[i].time += tree->nodes[i].self_time;
		sums[i].instructions += tree->nodes[i].self_instructions;
		sums[tree->nodes[i].parent].time += sums[i].time;
		sums[tree->nodes[i].parent].instructions += sums[i].instructions;
	}
	time = sums[0].time ? (double)sums[0].time : 1;
	instructions = sums[0].instructions ? (double)sums[0].instructions : 1;
	for (size_t i = 1; i < tree->count; i++) {
		const double of_time = (double)sums[i].time / time;
		const double of_instructions = (double)sums[i].instructions / instructions;

		sums[i].weight = (uint64_t)((of_time > of_instructions ? of_time : of_instructions) * WHOLE);
	}
}

/* Finds the lowest weight for which all nodes of at least this weight fit the limit. */
static int find_least(const struct sums *sums, size_t count, uint64_t limit, uint64_t *least)
{
	uint64_t *weights;

	*least = 0;
	if (count - 1 <= limit)
		return 0;
	weights = malloc(count * sizeof(*weights));
	if (!weights)
		return common_fail_memory("paths of calls", count * sizeof(*weights));
	for (size_t i = 1; i < count; i++)
		weights[i - 1] = sums[i].weight;
	qsort(weights, count - 1, sizeof(*weights), compare_down);
	*least = weights[limit - 1];
	if (weights[limit] == *least)
		(*least)++;
	free(weights);
	return 0;
}

static void put_name(const struct dump_html_trace *trace, const struct analysis_path_node *node, struct ptl_bytes *text)
{
	text->size = 0;
	if (node->parent)
		analysis_path_function_text(&trace->path_run.paths, node->function, text);
	else
		analysis_path_root_text(&trace->path_run.paths, node->function, text);
}

/* Counts the nodes of at least this weight, and the bytes of their names and numbers. */
static int measure_nodes(const struct dump_html_trace *trace, const struct sums *sums, uint64_t least, size_t *count,
			 uint64_t *bytes)
{
	const struct analysis_path_tree *tree = &trace->path_run.paths.tree;
	struct common_hash_map known = {0};
	struct ptl_bytes text = {0};
	int status = 0;

	*count = *bytes = 0;
	for (size_t i = 1; status == 0 && i < tree->count; i++) {
		const struct analysis_path_node *node = &tree->nodes[i];
		const uint64_t key = (uint64_t)!node->parent << 32 | node->function;

		if (sums[i].weight < least)
			continue;
		++*count;
		*bytes += NODE_BYTES;
		if (common_hash_map_get(&known, key))
			continue;
		put_name(trace, node, &text);
		*bytes += text.size;
		status = common_hash_map_put(&known, key, 1);
	}
	common_bytes_free(&text);
	common_hash_map_free(&known);
	return status;
}

/* Numbers the chosen nodes. Values of other nodes are added to their callers. */
static void place_nodes(struct analysis_path_tree *tree, struct sums *sums, uint64_t least)
{
	size_t count = 0;

	for (size_t i = 1; i < tree->count; i++)
		if (sums[i].weight >= least)
			sums[i].place = (uint32_t)++count;
	for (size_t i = tree->count; i-- > 1;) {
		struct analysis_path_node *node = &tree->nodes[i], *parent = &tree->nodes[node->parent];

		if (sums[i].place)
			continue;
		parent->self_time += node->self_time;
		parent->self_instructions += node->self_instructions;
	}
}

/* Chooses as many nodes as the limit allows, and halves the limit until the nodes fit the page. */
static int choose_nodes(const struct dump_html *html, struct dump_html_trace *trace, struct sums *sums, size_t *count)
{
	struct analysis_path_tree *tree = &trace->path_run.paths.tree;
	uint64_t limit = html->limits->paths, least, bytes = 0;
	int status;

	do {
		status = find_least(sums, tree->count, limit, &least);
		if (status == 0)
			status = measure_nodes(trace, sums, least, count, &bytes);
		if (status < 0)
			return status;
		if (dump_html_fits(&html->room, bytes))
			break;
		limit = (*count < limit ? *count : limit) / 2;
	} while (limit);
	if (!limit)
		*count = 0;
	place_nodes(tree, sums, limit ? least : UINT64_MAX);
	return 0;
}

static int put_nodes(struct common_json *json, const struct dump_html_trace *trace, const struct sums *sums,
		     const uint32_t *rows)
{
	const struct analysis_path_tree *tree = &trace->path_run.paths.tree;
	struct common_byte_map known = {0};
	struct ptl_bytes text = {0};
	uint32_t names = 0;
	int status = 0;

	for (size_t i = 1; status == 0 && i < tree->count; i++) {
		const struct analysis_path_node *node = &tree->nodes[i];
		const uint64_t *number;

		if (!sums[i].place)
			continue;
		put_name(trace, node, &text);
		number = common_byte_map_get(&known, text.data, text.size);
		common_json_array(json, NULL);
		common_json_u64(json, NULL, node->parent ? sums[node->parent].place : 0);
		/* A new name, or the number of an earlier name. */
		if (number)
			common_json_u64(json, NULL, *number);
		else
			common_json_string(json, NULL, common_text_string(&text));
		common_json_u64(json, NULL, node->calls);
		common_json_u64(json, NULL, node->self_instructions);
		common_json_u64(json, NULL, node->self_time);
		common_json_u64(json, NULL, node->parent ? rows[(uint32_t)(node->function + 1)] : 0);
		common_json_array_end(json);
		if (!number)
			status = common_byte_map_put(&known, text.data, text.size, names++);
	}
	common_bytes_free(&text);
	common_byte_map_free(&known);
	return status;
}

int dump_html_paths(struct dump_html *html, struct dump_run *run, struct dump_html_trace *trace)
{
	struct analysis_path_tree *tree = &trace->path_run.paths.tree;
	struct common_json *json = &run->json_out;
	struct sums *sums = calloc(tree->count + 1, sizeof(*sums));
	size_t count = 0, row_count;
	uint32_t *rows = dump_html_function_rows(trace, &row_count);
	int status = sums && rows ? 0 : common_fail_memory("paths of calls", tree->count * sizeof(*sums));

	common_json_array(json, NULL);
	if (status == 0 && tree->count) {
		weigh(tree, sums);
		status = choose_nodes(html, trace, sums, &count);
		if (status == 0)
			status = put_nodes(json, trace, sums, rows);
		dump_left_out_add(&html->left_out, tree->count - 1 - count, "path that took least, shown as its caller",
				  "paths that took least, shown as their callers");
	}
	common_json_array_end(json);
	free(sums);
	free(rows);
	return status;
}
