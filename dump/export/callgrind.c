/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls as callgrind writes them: https://valgrind.org/docs/manual/cl-format.html */
#include "dump/export/callgrind.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text.h"
#include "common/vector.h"
#include "common/version.h"

/* A function, or its calls of another one. */
struct item {
	uint64_t calls, instructions, time;
	uint32_t caller, callee; /* numbers of functions in the output, from 0 */
};

struct list {
	struct item *items; /* owned */
	size_t count, capacity;
	struct common_hash_map numbers;
};

struct callgrind {
	struct dump_session *session;
	const struct dump_paths *paths;
	struct list functions; /* callee: its number in the function table */
	struct list edges;
	uint32_t *ids;                /* of each node: its function */
	struct item *sums;            /* of each node: with all that it called */
	struct common_byte_map files; /* by path: number, from 1 */
	size_t file_count;
};

static int find_item(struct list *list, uint64_t key, struct item **item, uint32_t *number)
{
	const uint64_t *known = common_hash_map_get(&list->numbers, key);
	int status = 0;

	if (known) {
		*number = (uint32_t)*known;
	} else {
		status = COMMON_VECTOR_RESERVE(list->items, list->capacity, list->count + 1, "functions");
		if (status == 0)
			status = common_hash_map_put(&list->numbers, key, list->count);
		if (status < 0)
			return status;
		*number = (uint32_t)list->count++;
		list->items[*number] = (struct item){0};
	}
	*item = &list->items[*number];
	return 0;
}

/* ---- sums ---------------------------------------------------------------------------------------- */

static int add_function(struct callgrind *callgrind, size_t at)
{
	const struct dump_path_node *node = &callgrind->paths->tree.nodes[at];
	/* What a root has by itself is of no function. */
	const uint32_t function = node->parent ? node->function : DUMP_NO_FUNCTION;
	struct item *item;
	const int status = find_item(&callgrind->functions, function, &item, &callgrind->ids[at]);

	if (status < 0)
		return status;
	item->callee = function;
	item->instructions += node->self_instructions;
	item->time += node->self_time;
	callgrind->sums[at].instructions += node->self_instructions;
	callgrind->sums[at].time += node->self_time;
	return 0;
}

/* From the last node to the first: what is below a node comes behind it. */
static int add_edge(struct callgrind *callgrind, size_t at)
{
	const struct dump_path_node *node = &callgrind->paths->tree.nodes[at];
	const struct item *sum = &callgrind->sums[at];
	uint32_t caller, callee, number;
	struct item *item;
	int status;

	if (!node->parent || !callgrind->paths->tree.nodes[node->parent].parent)
		return 0;
	caller = callgrind->ids[node->parent];
	callee = callgrind->ids[at];
	status = find_item(&callgrind->edges, (uint64_t)caller << 32 | callee, &item, &number);
	if (status < 0)
		return status;
	item->caller = caller;
	item->callee = callee;
	item->calls += node->calls;
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

/* "ob=(1) /usr/bin/gzip", or "ob=(1)" where that has been said. */
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

/* Functions are named in the order of their numbers before anything refers to them. */
static int write_function(struct callgrind *callgrind, uint32_t number, struct ptl_bytes *text)
{
	const uint32_t function = callgrind->functions.items[number].callee;
	const int status = write_object(callgrind,
					"ob=", dump_function(callgrind->paths->calls->functions, function)->path, text);

	common_text_format(text, "fl=(1)\nfn=(%" PRIu32 ") ", number + 1);
	dump_path_function_text(callgrind->paths, function, text);
	common_text_format(text, "\n0 %" PRIu64 " %" PRIu64 "\n", callgrind->functions.items[number].instructions,
			   callgrind->functions.items[number].time);
	return status;
}

static int write_edge(struct callgrind *callgrind, const struct item *edge, struct ptl_bytes *text)
{
	const uint32_t function = callgrind->functions.items[edge->callee].callee;
	const int status = write_object(
		callgrind, "cob=", dump_function(callgrind->paths->calls->functions, function)->path, text);

	common_text_format(text, "cfn=(%" PRIu32 ")\ncalls=%" PRIu64 " 0\n0 %" PRIu64 " %" PRIu64 "\n",
			   edge->callee + 1, edge->calls ? edge->calls : 1, edge->instructions, edge->time);
	return status;
}

static void write_head(struct callgrind *callgrind, struct dump_left_out *left_out, struct ptl_bytes *text)
{
	const char *words = dump_left_out_text(left_out);

	common_text_add(text, "# callgrind format\nversion: 1\ncreator: ptl-dump " COMMON_VERSION "\ncmd: ");
	common_text_safe(text, callgrind->session->path);
	common_text_add(text, "\npart: 1\n");
	if (words) {
		common_text_add(text, "desc: Left out: ");
		common_text_add(text, words);
		common_text_add(text, "\n");
	}
	common_text_add(text,
			"positions: line\nevent: Ir : Instructions\nevent: ns : Time in nanoseconds\nevents: Ir ns\n\n"
			"fl=(1) ???\n");
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

/* Names come before what refers to them: a function's calls follow when all functions have been named. */
static int write_all(struct callgrind *callgrind, struct dump_left_out *left_out)
{
	struct ptl_bytes text = {0};
	uint32_t caller = UINT32_MAX;
	int status = 0;

	write_head(callgrind, left_out, &text);
	for (size_t i = 0; status == 0 && i < callgrind->functions.count; i++)
		status = write_function(callgrind, (uint32_t)i, &text);
	for (size_t i = 0; status == 0 && i < callgrind->edges.count; i++) {
		const struct item *edge = &callgrind->edges.items[i];
		const uint32_t function = callgrind->functions.items[edge->caller].callee;

		if (edge->caller != caller) {
			status = write_object(callgrind,
					      "ob=", dump_function(callgrind->paths->calls->functions, function)->path,
					      &text);
			common_text_format(&text, "fn=(%" PRIu32 ")\n", edge->caller + 1);
		}
		caller = edge->caller;
		if (status == 0)
			status = write_edge(callgrind, edge, &text);
		common_text_write(&text, callgrind->session->out);
		text.size = 0;
	}
	write_totals(callgrind, &text);
	common_text_write(&text, callgrind->session->out);
	if (status == 0 && text.failed)
		status = common_fail_memory("functions", text.size);
	common_bytes_free(&text);
	return status;
}

int dump_callgrind(struct dump_session *session, const struct dump_paths *paths, struct dump_left_out *left_out)
{
	struct callgrind callgrind = {.session = session, .paths = paths};
	const size_t count = paths->tree.count;
	int status;

	callgrind.ids = calloc(count + 1, sizeof(*callgrind.ids));
	callgrind.sums = calloc(count + 1, sizeof(*callgrind.sums));
	status = callgrind.ids && callgrind.sums
			 ? add_up(&callgrind)
			 : common_fail_memory("paths of calls", count * sizeof(*callgrind.sums));
	if (status == 0)
		status = write_all(&callgrind, left_out);
	free(callgrind.ids);
	free(callgrind.sums);
	free(callgrind.functions.items);
	free(callgrind.edges.items);
	common_hash_map_free(&callgrind.functions.numbers);
	common_hash_map_free(&callgrind.edges.numbers);
	common_byte_map_free(&callgrind.files);
	return status;
}
