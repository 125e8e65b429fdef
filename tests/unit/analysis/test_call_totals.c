/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that totals of functions are equal for pieces with only a stack and for pieces with the paths of all calls. The
 * expected totals are computed here from their definition.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/call/call_totals.h"
#include "common/hash.h"

#define FUNCTIONS 12u
#define NODES 4096u
#define START 500u /* time before a piece */

static struct analysis_summary_tree path_tree, stack_tree;
static struct analysis_summary paths, stack;
static struct analysis_totals totals;

struct sums {
	uint64_t calls, instructions, all_instructions, time, all_time;
};

static int setup(void **state)
{
	(void)state;
	paths = (struct analysis_summary){.tree = &path_tree};
	stack = (struct analysis_summary){.tree = &stack_tree, .totals = &totals};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	analysis_summary_free(&paths);
	analysis_summary_free(&stack);
	analysis_summary_tree_free(&path_tree);
	analysis_summary_tree_free(&stack_tree);
	analysis_totals_free(&totals);
	return 0;
}

/* ---- the definition ------------------------------------------------------------------------------ */

static struct sums *sums_of(struct sums *all, uint32_t function)
{
	return &all[function == ANALYSIS_NO_FUNCTION ? FUNCTIONS : function];
}

/* Returns whether a call of the function encloses the node at any distance. */
static bool is_within(const struct analysis_summary_node *nodes, uint32_t node, uint32_t function)
{
	for (uint32_t at = nodes[node].parent; at; at = nodes[at].parent)
		if (nodes[at].function == function)
			return true;
	return false;
}

static uint64_t pass_times(const struct analysis_piece *piece, struct analysis_summary_node *nodes)
{
	uint64_t before = START, all = 0;

	for (size_t i = 0; i < piece->time_count; i++) {
		const struct analysis_summary_time *at = &paths.times[piece->time + i];

		nodes[at->node].time += at->time - before;
		all += at->time - before;
		before = at->time;
	}
	return all;
}

static void add_up(const struct analysis_piece *piece, struct sums *all, struct sums *root)
{
	struct analysis_summary_node *nodes = paths.nodes + piece->node;
	static struct sums own[NODES];

	assert_true(piece->node_count <= NODES);
	root->all_time = pass_times(piece, nodes);
	for (size_t i = 0; i < piece->node_count; i++)
		own[i] = (struct sums){.all_instructions = nodes[i].instructions, .all_time = nodes[i].time};
	for (size_t i = piece->node_count; i-- > 1;) {
		own[nodes[i].parent].all_instructions += own[i].all_instructions;
		own[nodes[i].parent].all_time += own[i].all_time;
	}
	for (uint32_t i = 1; i < piece->node_count; i++) {
		struct sums *sums = sums_of(all, nodes[i].function);

		sums->calls += nodes[i].calls;
		sums->instructions += nodes[i].instructions;
		sums->time += nodes[i].time;
		if (is_within(nodes, i, nodes[i].function))
			continue;
		sums->all_instructions += own[i].all_instructions;
		sums->all_time += own[i].all_time;
	}
	root->instructions = nodes[0].instructions;
	root->time = nodes[0].time;
}

/* ---- what is compared ---------------------------------------------------------------------------- */

static void read_sums(const struct analysis_piece *piece, struct sums *all, struct sums *root)
{
	const struct analysis_piece_time *elapsed = &piece->elapsed;
	const uint64_t first = elapsed->first ? elapsed->first - START : 0;

	for (size_t i = 0; i < piece->sum_count; i++) {
		const struct analysis_function_sums *got = &stack.sums[piece->sum + i];

		*sums_of(all, got->function) = (struct sums){
			.calls = got->calls,
			.instructions = got->instructions,
			.all_instructions = got->all_instructions,
			.time = got->time + ((got->first & ANALYSIS_FIRST_OWN) == ANALYSIS_FIRST_OWN ? first : 0),
			.all_time = got->all_time + (got->first ? first : 0),
		};
	}
	root->instructions = piece->own_instructions;
	root->time = elapsed->own + (elapsed->is_first_own ? first : 0);
	root->all_time = elapsed->passed + first;
}

static void compare_frames(const struct analysis_piece *a, const struct analysis_piece *b)
{
	assert_int_equal(a->frame_count, b->frame_count);
	for (size_t i = 0; i < a->frame_count; i++) {
		const struct analysis_summary_frame *left = &paths.frames[a->frame + i],
						    *right = &stack.frames[b->frame + i];

		assert_int_equal(left->return_address, right->return_address);
		assert_int_equal(left->entry, right->entry);
		assert_int_equal(left->flags, right->flags);
		assert_int_equal(left->function, right->function);
	}
}

static void compare_last(void)
{
	struct sums wanted[FUNCTIONS + 1] = {0}, got[FUNCTIONS + 1] = {0}, wanted_root = {0}, got_root = {0};
	const struct analysis_piece *a, *b;

	assert_int_equal(analysis_summary_close(&paths, 0), 0);
	assert_int_equal(analysis_summary_close(&stack, 0), 0);
	assert_int_equal(paths.piece_count, stack.piece_count);
	if (!paths.piece_count)
		return;
	a = &paths.pieces[paths.piece_count - 1];
	b = &stack.pieces[stack.piece_count - 1];
	assert_false(a->by_function);
	assert_true(b->by_function);
	assert_int_equal(a->instructions, b->instructions);
	assert_int_equal(a->calls, b->calls);
	assert_int_equal(a->transfers, b->transfers);
	add_up(a, wanted, &wanted_root);
	read_sums(b, got, &got_root);
	assert_memory_equal(wanted, got, sizeof(wanted));
	assert_memory_equal(&wanted_root, &got_root, sizeof(got_root));
	compare_frames(a, b);
}

/* ---- programs ------------------------------------------------------------------------------------ */

static uint64_t random_state;

static uint32_t pick(uint32_t below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(common_hash_mix(random_state) % below);
}

/* Return addresses of the open calls, for matching returns. */
static uint64_t open_calls[NODES];
static uint32_t depth;
static uint64_t now;

static struct analysis_transfer pick_transfer(void)
{
	const uint32_t kind = pick(10);
	struct analysis_transfer transfer = {.instructions = pick(20), .function = pick(FUNCTIONS)};

	if (pick(3) == 0)
		now += pick(50);
	transfer.time = now;
	transfer.to = 0x1000 * (transfer.function + 1);
	if (kind < 4) {
		transfer.kind = ANALYSIS_TRANSFER_CALL;
		transfer.address = 0x100000 + pick(4);
		transfer.flags = pick(8) ? ANALYSIS_TRANSFER_START : 0;
		transfer.function_flags = pick(10) ? 0 : ANALYSIS_FUNCTION_STUB;
		if (!pick(12))
			transfer.function = ANALYSIS_NO_FUNCTION;
	} else if (kind < 8) {
		transfer.kind = ANALYSIS_TRANSFER_RETURN;
		transfer.to = depth && pick(20) ? open_calls[depth - 1] : 0x100000 + pick(4);
	} else if (kind == 8) {
		transfer.kind = ANALYSIS_TRANSFER_LEAF;
		transfer.address = 0x100000 + pick(4);
		transfer.flags = ANALYSIS_TRANSFER_START;
		transfer.inside = pick(30);
	} else {
		transfer.kind = ANALYSIS_TRANSFER_JUMP;
		transfer.flags = (uint8_t)((pick(2) ? ANALYSIS_TRANSFER_START : 0) |
					   (pick(2) ? ANALYSIS_TRANSFER_INDIRECT : 0) |
					   (pick(2) ? ANALYSIS_TRANSFER_FOREIGN : 0));
	}
	return transfer;
}

static void follow(const struct analysis_transfer *transfer)
{
	if (transfer->kind == ANALYSIS_TRANSFER_CALL && depth < NODES)
		open_calls[depth++] = transfer->address;
	else if (transfer->kind == ANALYSIS_TRANSFER_RETURN && depth)
		depth--;
}

static void random_calls(void **state)
{
	uint32_t compared = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 3000; seed++) {
		random_state = seed;
		depth = 0;
		now = START;
		for (uint32_t i = 0; i < 5 + pick(150); i++) {
			const struct analysis_transfer transfer = pick_transfer();
			const int wanted = analysis_summary_take(&paths, &transfer);
			const int got = analysis_summary_take(&stack, &transfer);

			/* A path that led to a function leads to no other function, which a stack does not know. */
			if (!wanted && got == 1)
				break;
			assert_int_equal(wanted, got);
			if (!wanted)
				break;
			follow(&transfer);
		}
		if (paths.tree->transfers == stack.tree->transfers) {
			compare_last();
			compared++;
		}
		analysis_summary_clear(&paths);
		analysis_summary_clear(&stack);
	}
	assert_true(compared > 2000);
}

static void a_leaf_within_a_call_of_its_function_is_in_that(void **state)
{
	const struct analysis_transfer call = {.kind = ANALYSIS_TRANSFER_CALL,
					       .to = 0x2000,
					       .address = 0x1005,
					       .function = 1,
					       .flags = ANALYSIS_TRANSFER_START};
	const struct analysis_transfer end = {.kind = ANALYSIS_TRANSFER_RETURN, .to = 0x1005, .instructions = 10};

	(void)state;
	assert_int_equal(analysis_summary_take(&stack, &call), 1);
	analysis_totals_leaf(&stack, 1, 5);
	stack.instructions += 5;
	assert_int_equal(analysis_summary_take(&stack, &end), 1);
	analysis_totals_leaf(&stack, 1, 7);
	stack.instructions += 7;
	assert_int_equal(analysis_summary_close(&stack, 0), 0);
	assert_int_equal(stack.sum_count, 1);
	assert_int_equal(stack.sums[0].calls, 3);
	assert_int_equal(stack.sums[0].instructions, 22);
	assert_int_equal(stack.sums[0].all_instructions, 22);
}

static void a_deep_stack_ends_the_piece(void **state)
{
	const struct analysis_transfer call = {.kind = ANALYSIS_TRANSFER_CALL,
					       .to = 0x2000,
					       .address = 0x1005,
					       .function = 1,
					       .flags = ANALYSIS_TRANSFER_START};
	uint32_t taken = 0;

	(void)state;
	while (taken <= 2 * ANALYSIS_SUMMARY_CALLS_MAX && analysis_summary_take(&stack, &call) == 1)
		taken++;
	assert_int_equal(taken, ANALYSIS_SUMMARY_CALLS_MAX);
	assert_int_equal(analysis_summary_close(&stack, 0), 0);
	assert_int_equal(stack.pieces[0].frame_count, taken);
	assert_int_equal(stack.pieces[0].calls, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(random_calls, setup, teardown),
		cmocka_unit_test_setup_teardown(a_leaf_within_a_call_of_its_function_is_in_that, setup, teardown),
		cmocka_unit_test_setup_teardown(a_deep_stack_ends_the_piece, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
