/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs any sequence of transfers, as hostile packets and code produce, through the fold of calls into the call tree,
 * the report, the graph of a function and the tree of paths (the source of all exports).
 * Checks: all frames end; no instruction is lost or counted twice; a call that returns at once may be one transfer;
 * partial folds of calls fit together.
 * Input: u8 options of the trees, then 8 bytes per transfer.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ptl/reader.h>
#include <ptl/writer.h>

#include "common/hash.h"
#include "analysis/call/call_graph.h"
#include "analysis/call/call_report.h"
#include "analysis/call/call_totals.h"
#include "analysis/call/call_tree.h"
#include "dump/export/profile/callgrind.h"
#include "dump/export/flame/flamegraph.h"
#include "dump/export/profile/pprof.h"
#include "dump/export/flame/speedscope.h"
#include "dump/run/output.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TRANSFER_SIZE 8
#define SIZE_LIMIT 4096
#define TRANSFERS_MAX (SIZE_LIMIT / TRANSFER_SIZE)
#define FUNCTIONS 8
#define PLACES 4 /* addresses per function; the first is the function's start */
#define BASE 0x10000u

static void need(bool holds)
{
	if (!holds)
		abort();
}

/* Trace without flow, and its functions; shared by all inputs. */
struct world {
	struct ptl_trace *trace;
	struct flow_timeline *timeline;
	struct flow_symbols *symbols;
	struct analysis_function_table *functions;
	uint32_t numbers[FUNCTIONS];
};

static void open_world(struct world *world)
{
	const struct ptl_machine machine = {
		.source = "fuzz", .mode = 64, .clock = PTL_CLOCK_MONOTONIC, .tsc_multiplier = 1};
	const int fd = memfd_create("trace", MFD_CLOEXEC);
	struct ptl_writer *writer;

	need(ptl_writer_open(dup(fd), NULL, &writer) == 0 && ptl_writer_machine(writer, &machine) == 0 &&
	     ptl_writer_close(writer) == 0 && ptl_open_fd(fd, "fuzz", NULL, &world->trace) == 0 &&
	     flow_timeline_build(world->trace, &world->timeline) == 0 &&
	     flow_symbols_open(world->trace, world->timeline, true, &world->symbols) == 0 &&
	     analysis_functions_open(world->timeline, world->symbols, &world->functions) == 0);
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		need(analysis_functions_nameless(world->functions, FLOW_NONE, FLOW_NONE, BASE * (i + 1),
						 &world->numbers[i]) == 0);
}

static void close_world(struct world *world)
{
	analysis_functions_close(world->functions);
	flow_symbols_close(world->symbols);
	flow_timeline_free(world->timeline);
	ptl_close(world->trace);
}

static uint64_t place_of(uint8_t byte)
{
	return BASE * (uint64_t)(byte % FUNCTIONS + 1) + 16u * (byte / FUNCTIONS % PLACES);
}

/*
 * Reads a transfer with the invariants of analysis/call/transfer.c: a call has a function, and a start is at a function's
 * start.
 */
static struct analysis_transfer read_transfer(const struct world *world, const uint8_t *data, uint64_t *time)
{
	struct analysis_transfer transfer = {
		.kind = (uint8_t)(ANALYSIS_TRANSFER_CALL +
				  data[0] % (ANALYSIS_TRANSFER_GO_ON - ANALYSIS_TRANSFER_CALL + 1)),
		.flags = data[1] & 0x1e,
		.to = data[2] ? place_of(data[2]) : 0,
		.address = data[3] ? place_of(data[3]) : 0,
		.function = ANALYSIS_NO_FUNCTION,
		.image = FLOW_NONE,
		.instructions = data[4],
		.function_flags = (uint16_t)((data[6] & 0xfe) | (data[7] & 2 ? ANALYSIS_FUNCTION_JUMPS : 0)),
	};

	*time += data[5] & 0x7f;
	transfer.time = data[5] & 0x80 ? 0 : *time;
	if (transfer.kind == ANALYSIS_TRANSFER_CALL || data[7] & 1)
		transfer.function = world->numbers[data[2] % FUNCTIONS];
	if (transfer.function != ANALYSIS_NO_FUNCTION && transfer.to % BASE == 0 && transfer.to)
		transfer.flags |= ANALYSIS_TRANSFER_START;
	return transfer;
}

/*
 * Joins calls that return at once into one transfer each, as analysis/call/transfer.c does. Returns the number of transfers
 * left.
 */
static size_t join_leaves(struct analysis_transfer *transfers, size_t count)
{
	size_t left = 0;

	for (size_t i = 0; i < count; i++) {
		struct analysis_transfer *before = left ? &transfers[left - 1] : NULL;

		if (before && before->kind == ANALYSIS_TRANSFER_CALL && transfers[i].kind == ANALYSIS_TRANSFER_RETURN &&
		    !((before->flags | transfers[i].flags) & ANALYSIS_TRANSFER_OUTSIDE) && !before->function_flags &&
		    before->address == transfers[i].to && before->address && before->time == transfers[i].time) {
			before->kind = ANALYSIS_TRANSFER_LEAF;
			before->inside = transfers[i].instructions;
		} else {
			transfers[left++] = transfers[i];
		}
	}
	return left;
}

/* ---- observers ----------------------------------------------------------------------------------- */

/* Sums over a tree. */
struct shown {
	uint64_t instructions;
	uint64_t hash; /* hash of all records */
};

static uint64_t hash_of(uint64_t hash, const struct analysis_call_record *record)
{
	const uint64_t values[] = {record->start,
				   record->wall,
				   record->self_time,
				   record->instructions,
				   record->children,
				   record->repeats,
				   record->self_instructions,
				   record->end,
				   record->function,
				   (uint32_t)record->depth,
				   record->stack,
				   record->flags,
				   record->kind,
				   record->hidden};

	return common_fnv1a(hash, values, sizeof(values));
}

static int show(void *context, const struct analysis_call_tree *tree, const struct analysis_call_thread *thread)
{
	struct shown *shown = context;
	uint64_t *instructions = &shown->instructions;
	struct analysis_record_reader reader = {.list = &tree->list};
	const struct analysis_call_record *record;

	(void)thread;
	for (size_t i = 0; (record = analysis_record_next(&reader)) != NULL; i++) {
		*instructions += record->self_instructions;
		shown->hash = hash_of(shown->hash, record);
		need(record->kind != ANALYSIS_RECORD_CALL || (record->end > i && record->end <= tree->list.count));
		need(record->self_instructions <= record->instructions &&
		     record->repeats <= record->children + UINT32_MAX);
		/* Folding keeps one record of several calls, so a record may lie deeper than the number of records. */
		need(record->kind != ANALYSIS_RECORD_CALL || analysis_record_level(tree, record) <= 2 * TRANSFERS_MAX);
	}
	for (size_t i = 0; i < tree->below.count; i++)
		*instructions += tree->below.records[i].self_instructions;
	return 0;
}

/* How transfers come. */
enum way { ONE_BY_ONE, JOINED, IN_PIECES, IN_PIECES_WITHOUT_PATHS };

static uint64_t sum_of(const struct analysis_transfer *transfers, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += transfers[i].instructions +
		       (transfers[i].kind == ANALYSIS_TRANSFER_LEAF ? transfers[i].inside : 0);
	return sum;
}

/* Folds all transfers in parts of `part_size`. Returns the number of instructions executed on a stack. */
static uint64_t take_frames(const struct analysis_call_fold *fold, struct analysis_call_thread *thread,
			    const struct analysis_transfer *transfers, size_t count, size_t part_size)
{
	uint64_t instructions = 0;

	for (size_t i = 0; i < count; i++) {
		const size_t whole = i - i % part_size + part_size, end = whole < count ? whole : count;
		const size_t end_of_next = count - end < part_size ? count : end + part_size;
		const struct analysis_call_part rest = {.transfers = transfers + end_of_next,
							.count = count - end_of_next};
		const struct analysis_call_part next = {
			.transfers = transfers + end, .count = end_of_next - end, .next = &rest};
		const struct analysis_call_part part = {.transfers = &transfers[i], .count = 1, .next = &next};
		const bool has_stack = thread->stack;

		need(analysis_calls_take(fold, thread, &part, end - i - 1) == 0);
		instructions += has_stack ? transfers[i].instructions : 0;
		instructions += transfers[i].kind == ANALYSIS_TRANSFER_LEAF ? transfers[i].inside : 0;
	}
	return instructions;
}

/* Folds the transfers in pieces, some of which end early; a part is folded as soon as its predecessors are known. */
static void take_pieces(const struct analysis_call_fold *fold, struct analysis_call_thread *thread,
			const struct analysis_transfer *transfers, size_t count, unsigned cuts)
{
	struct analysis_transfer others[TRANSFERS_MAX];
	struct analysis_summary_tree tree = {0};
	struct analysis_totals totals = {0};
	struct analysis_summary summary = {.tree = &tree, .totals = fold->observer->sums ? &totals : NULL};
	size_t left = 0, first = 0;

	/* Executed code begins with a transfer that makes a stack. */
	for (; first < count && !thread->stack; first++) {
		const struct analysis_call_part part = {.transfers = &transfers[first], .count = 1};

		need(analysis_calls_take(fold, thread, &part, count - first - 1) == 0);
	}
	for (size_t i = first; i <= count; i++) {
		struct analysis_call_part part = {.transfers = others, .summary = &summary};
		const int taken = i < count ? analysis_summary_take(&summary, &transfers[i]) : 0;

		need(taken >= 0);
		if (!taken || cuts >> i % 8 & 1)
			need(analysis_summary_close(&summary, left) == 0);
		if (!taken && i < count)
			others[left++] = transfers[i];
		if (i < count && i % 3)
			continue;
		need(analysis_summary_close(&summary, left) == 0);
		analysis_summary_before(&summary, left, i < count ? ANALYSIS_CALLS_AHEAD : 0, &part.count,
					&part.piece_count);
		need(analysis_calls_take(fold, thread, &part, left - part.count) == 0);
		left -= part.count;
		memmove(others, others + part.count, left * sizeof(*others));
		analysis_summary_drop(&summary, part.count, part.piece_count);
	}
	need(!left && !summary.piece_count && !summary.node_count && !summary.frame_count && !summary.time_count &&
	     !summary.sum_count);
	analysis_summary_free(&summary);
	analysis_summary_tree_free(&tree);
	analysis_totals_free(&totals);
}

/* Folds the transfers for the observer. Returns the number of instructions that an observer may count. */
static uint64_t walk(const struct world *world, const struct analysis_call_observer *observer, const uint8_t *data,
		     size_t size, enum way way)
{
	const struct analysis_call_fold fold = {
		.functions = world->functions, .timeline = world->timeline, .observer = observer};
	const struct flow_segment segment = {.process = FLOW_NONE, .pid = 1, .tid = 1, .cpu = PTL_NO_CPU};
	struct analysis_transfer transfers[TRANSFERS_MAX];
	struct analysis_call_thread thread;
	uint64_t time = 1, instructions;
	size_t count = 0;

	analysis_calls_start(&thread, &segment);
	need(!observer->begin || observer->begin(observer->context, &thread) == 0);
	for (size_t at = 0; at + TRANSFER_SIZE <= size; at += TRANSFER_SIZE)
		transfers[count++] = read_transfer(world, data + at, &time);
	if (way == JOINED || (way >= IN_PIECES && size && data[0] & 1))
		count = join_leaves(transfers, count);
	instructions = sum_of(transfers, count);
	if (way >= IN_PIECES)
		take_pieces(&fold, &thread, transfers, count, size ? data[size - 1] : 0);
	else
		instructions = take_frames(&fold, &thread, transfers, count, way == JOINED ? 5 : TRANSFERS_MAX);
	need(analysis_calls_end(&fold, &thread) == 0);
	for (size_t i = 0; i < thread.stack_count; i++)
		need(!thread.stacks[i]->count);
	need(!observer->end || observer->end(observer->context, &thread) == 0);
	analysis_calls_free(&thread);
	return instructions;
}

/* Builds the report of the calls, and checks its sums. */
static void report_calls(const struct world *world, struct analysis_report *report, const uint8_t *data, size_t size,
			 enum way way)
{
	struct analysis_call_observer observer = analysis_report_observer_of(report);
	uint64_t reported = 0, passed;

	if (way != IN_PIECES_WITHOUT_PATHS)
		observer.sums = NULL;
	passed = walk(world, &observer, data, size, way);
	for (size_t i = 0; i < report->count; i++)
		reported += report->rows[i].self_instructions;
	need(reported == report->sum.self_instructions && reported <= passed);
	analysis_report_sort(report, 0);
}

/*
 * With one image or one thread, outermost calls include the own time of all calls; the row of a function has at most
 * that sum.
 */
static void check_totals(const struct analysis_report *report)
{
	const bool is_all = report->by != ANALYSIS_REPORT_FUNCTION;

	need(!is_all || report->count <= 1);
	for (size_t i = 0; i < report->count; i++) {
		const struct analysis_report_row *row = &report->rows[i];

		need(row->total_instructions >= row->self_instructions && row->total_time >= row->self_time);
		need(row->total_instructions <= report->sum.self_instructions &&
		     row->total_time <= report->sum.self_time);
		need(!is_all || (row->total_instructions == report->sum.self_instructions &&
				 row->total_time == report->sum.self_time));
	}
}

static void check_reports(const struct world *world, const struct analysis_calls *calls, const uint8_t *data,
			  size_t size)
{
	static const enum analysis_report_by kinds[] = {ANALYSIS_REPORT_FUNCTION, ANALYSIS_REPORT_IMAGE,
							ANALYSIS_REPORT_PROCESS, ANALYSIS_REPORT_THREAD};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		for (enum way way = ONE_BY_ONE; way <= IN_PIECES_WITHOUT_PATHS; way++) {
			struct analysis_report report = {.by = kinds[i], .calls = calls};

			report_calls(world, &report, data, size, way);
			check_totals(&report);
			analysis_report_free(&report);
		}
}

static void need_same(const struct analysis_report *a, const struct analysis_report *b)
{
	need(a->count == b->count && a->timed == b->timed);
	for (size_t i = 0; i < a->count; i++) {
		const struct analysis_report_row *left = &a->rows[i], *right = &b->rows[i];

		need(left->function == right->function && left->calls == right->calls &&
		     left->total_time == right->total_time && left->self_time == right->self_time &&
		     left->total_instructions == right->total_instructions &&
		     left->self_instructions == right->self_instructions);
	}
}

/* ---- graphs -------------------------------------------------------------------------------------- */

static void need_same_tree(const struct analysis_graph *graph, const struct analysis_graph_tree *a,
			   const struct analysis_graph *other, const struct analysis_graph_tree *b)
{
	uint32_t *left, *right;

	need(a->count == b->count && analysis_graph_order(graph, a, &left) == 0 &&
	     analysis_graph_order(other, b, &right) == 0);
	for (size_t i = 0; i < a->count; i++) {
		struct analysis_graph_node one = a->nodes[left[i]], two = b->nodes[right[i]];

		one.parent = two.parent = 0; /* numbers depend on the order */
		need(!memcmp(&one, &two, offsetof(struct analysis_graph_node, depth) + sizeof(one.depth)));
	}
	free(left);
	free(right);
}

/* The function's outermost calls took at most the total. */
static void check_graph(const struct analysis_graph *graph, const struct analysis_report_row *sum)
{
	const struct analysis_graph_tree *trees[] = {&graph->callers, &graph->callees};

	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < trees[k]->count; i++)
			need(trees[k]->nodes[i].total_instructions <= sum->self_instructions &&
			     trees[k]->nodes[i].total_time <= sum->self_time);
	need(!graph->callers.count || !graph->callees.count ||
	     (graph->callers.nodes[0].total_instructions == graph->callees.nodes[0].total_instructions &&
	      graph->callers.nodes[0].total_time == graph->callees.nodes[0].total_time));
}

/* Builds the graph of one or several functions. Callers and callees are equal in pieces and frame by frame. */
static void graph_calls(const struct world *world, struct analysis_calls *calls, const uint8_t *data, size_t size,
			const struct analysis_report_row *sum)
{
	static const char *const patterns[] = {"0x10000", "0x2*", "0x[1-3]0000", "0x?0000"};
	struct analysis_graph frames = {.matches = {.calls = calls, .pattern = patterns[data[0] & 3]},
					.max_depth = data[0] >> 2 & 3};
	struct analysis_graph pieces = frames;
	struct analysis_call_observer observer = analysis_graph_observer;

	observer.context = &frames;
	(void)walk(world, &observer, data + 1, size - 1, ONE_BY_ONE);
	observer.context = &pieces;
	(void)walk(world, &observer, data + 1, size - 1, IN_PIECES);
	need(frames.timed == pieces.timed);
	check_graph(&frames, sum);
	need_same_tree(&frames, &frames.callers, &pieces, &pieces.callers);
	need_same_tree(&frames, &frames.callees, &pieces, &pieces.callees);
	analysis_graph_free(&frames);
	analysis_graph_free(&pieces);
}

/* ---- exports ------------------------------------------------------------------------------------- */

/* Writes a flame graph and checks that the graph contains every path once. */
static void write_flames(struct dump_run *run, const struct analysis_paths *paths, bool reverse, uint64_t expected)
{
	struct dump_flame_tree tree = {.reverse = reverse};
	const struct dump_flame_look look = {
		.title = "fuzz", .unit = "instructions", .icicle = reverse, .two = reverse};
	struct dump_left_out left_out = {0};

	need(dump_flame_tree_add(&tree, paths, false) == 0);
	need(!reverse || dump_flame_tree_add(&tree, paths, true) == 0);
	need(dump_flame_tree_sort(&tree) == 0);
	need(tree.nodes[0].total[0] == expected && tree.nodes[0].total[1] == (reverse ? expected : 0));
	need(dump_flame_folded(run, &tree, reverse) == 0 && dump_flame_svg(run, &tree, &look, &left_out) == 0);
	dump_left_out_free(&left_out);
	dump_flame_tree_free(&tree);
}

/* Writes pictures for one input in four, as they take time, and checks the sum for each input. */
static void write_paths(struct dump_run *run, const struct analysis_paths *paths, uint64_t expected, bool all)
{
	const struct dump_path_run path_run = {.paths = *paths};
	struct dump_left_out left_out = {0};
	uint64_t sum = 0;

	for (size_t i = 0; i < paths->tree.count; i++) {
		const struct analysis_path_node *node = &paths->tree.nodes[i];

		sum += node->self_instructions;
		need(node->parent < i || !i);
	}
	need(sum == expected);
	if (!all)
		return;
	write_flames(run, paths, false, expected);
	write_flames(run, paths, true, expected);
	need(dump_pprof(run, &path_run, false, true, &left_out) == 0 &&
	     dump_callgrind(run, &path_run, true, &left_out) == 0 &&
	     dump_speedscope(run, &path_run, false, &left_out) == 0);
	dump_left_out_free(&left_out);
}

static void need_same_paths(const struct analysis_paths *a, const struct analysis_paths *b)
{
	need(a->tree.count == b->tree.count && a->cut_calls == b->cut_calls && a->gaps == b->gaps &&
	     a->timed == b->timed);
	for (size_t i = 0; i < a->tree.count; i++) {
		const struct analysis_path_node *left = &a->tree.nodes[i], *right = &b->tree.nodes[i];

		need(left->calls == right->calls && left->self_time == right->self_time &&
		     left->self_instructions == right->self_instructions && left->parent == right->parent &&
		     left->function == right->function);
	}
}

/* Folds the transfers again with a limit on distinct calls and paths. */
static void export_paths(const struct world *world, struct analysis_calls *calls, const uint8_t *data, size_t size,
			 uint64_t expected)
{
	struct dump_options options = {0};
	struct dump_output output = {0};
	struct dump_run run = {
		.options = &options,
		.trace = world->trace,
		.path = "fuzz",
		.output = &output,
		.out = fopen("/dev/null", "w"),
	};
	struct analysis_paths paths = {
		.group = data[0] & 3,
		.calls = calls,
		.max_depth = data[0] >> 2 & 7,
		.max_nodes = data[0] >> 5 ? (size_t)(data[0] >> 5) * 2 : 0,
	};
	struct analysis_paths pieces = paths;
	struct analysis_call_observer observer = analysis_paths_observer;

	need(run.out);
	common_json_start(&run.json_out, run.out);
	calls->input.trace = world->trace;
	observer.context = &paths;
	(void)walk(world, &observer, data + 1, size - 1, data[0] & 1 ? JOINED : ONE_BY_ONE);
	write_paths(&run, &paths, expected, data[size - 1] % 4 == 0);
	observer.context = &pieces;
	(void)walk(world, &observer, data + 1, size - 1, IN_PIECES);
	need_same_paths(&paths, &pieces);
	analysis_paths_free(&pieces);
	analysis_paths_free(&paths);
	fclose(run.out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world world;
	struct analysis_calls calls = {0};
	struct analysis_report report = {.by = ANALYSIS_REPORT_FUNCTION, .calls = &calls}, other = report;
	struct analysis_call_observer observer = analysis_call_tree_observer;
	struct shown shown = {0}, again = {0};
	struct analysis_report_row sum;
	uint64_t reported;
	struct analysis_call_tree tree = {.show = show, .context = &shown};

	if (!size || size > SIZE_LIMIT)
		return 0;
	open_world(&world);
	calls.functions = world.functions;
	calls.timeline = world.timeline;
	report_calls(&world, &report, data + 1, size - 1, ONE_BY_ONE);
	for (enum way way = JOINED; way <= IN_PIECES_WITHOUT_PATHS; way++) {
		struct analysis_report same = other;

		report_calls(&world, &same, data + 1, size - 1, way);
		need_same(&report, &same);
		analysis_report_free(&same);
	}
	check_reports(&world, &calls, data + 1, size - 1);
	sum = report.sum;
	reported = sum.self_instructions;
	analysis_report_free(&report);

	tree.no_folding = data[0] & 1;
	tree.max_depth = data[0] >> 1 & 3;
	tree.min_instructions = data[0] >> 3 & 0x1f;
	observer.context = &tree;
	(void)walk(&world, &observer, data + 1, size - 1, ONE_BY_ONE);
	/* Folded calls drop the callees of later calls. */
	need(shown.instructions <= reported &&
	     (shown.instructions == reported || !tree.no_folding || tree.max_depth || tree.min_instructions));
	tree.context = &again;
	(void)walk(&world, &observer, data + 1, size - 1, JOINED);
	need(again.instructions == shown.instructions && again.hash == shown.hash);
	analysis_call_tree_free(&tree);
	graph_calls(&world, &calls, data, size, &sum);
	export_paths(&world, &calls, data, size, reported);
	close_world(&world);
	return 0;
}
