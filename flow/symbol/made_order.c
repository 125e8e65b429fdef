/* SPDX-License-Identifier: BSD-2-Clause */
/* Orders functions over the same memory. */
#include "flow/symbol/made_order.h"

#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/vector.h"
#include "format/state/address_space.h"

/* ---- the list ------------------------------------------------------------------------------------ */

/* Numbers the functions of a file with equal name and place: first, second, ... */
struct occurrences {
	struct common_byte_map counts;  /* by name and place: number of functions of the file so far */
	struct common_byte_map indexes; /* by name, place and number: index in the list */
	struct ptl_bytes key;
};

static int make_key(struct ptl_bytes *key, const struct ptl_symbol *symbol)
{
	key->size = 0;
	common_write_le(key, symbol->address, 8);
	common_write_le(key, symbol->size, 8);
	common_write_bytes(key, symbol->name, strlen(symbol->name));
	return key->failed ? common_fail_memory("names", key->size) : 0;
}

/* Finds an equal function of an earlier file. *index: index of the function; `fresh` for a new function. */
static int find_same(struct occurrences *seen, const struct ptl_symbol *symbol, size_t fresh, size_t *index)
{
	int status = make_key(&seen->key, symbol);
	uint64_t *count = status ? NULL : common_byte_map_get(&seen->counts, seen->key.data, seen->key.size);
	const uint64_t number = count ? *count : 0;
	const uint64_t *known;

	if (!status)
		status = common_byte_map_put(&seen->counts, seen->key.data, seen->key.size, number + 1);
	if (status)
		return status;
	common_write_le(&seen->key, 0, 1);
	common_write_le(&seen->key, number, 8);
	if (seen->key.failed)
		return common_fail_memory("names", seen->key.size);
	known = common_byte_map_get(&seen->indexes, seen->key.data, seen->key.size);
	*index = known ? (size_t)*known : fresh;
	return known ? 0 : common_byte_map_put(&seen->indexes, seen->key.data, seen->key.size, fresh);
}

static struct flow_made_function function_of(const struct ptl_symbol *symbol, size_t i,
					     const struct elf_made_place *time)
{
	const uint64_t more = symbol->size ? symbol->size - 1 : 0, rest = UINT64_MAX - symbol->address;

	return (struct flow_made_function){.symbol = i,
					   .first = symbol->address,
					   .last = symbol->address + (more < rest ? more : rest),
					   .after = time->after,
					   .time = time->at,
					   .until = FLOW_MADE_UNKNOWN,
					   .next = FLOW_MADE_UNKNOWN,
					   .is_visible = true};
}

static int add_function(struct flow_made_order *order, struct occurrences *seen, const struct ptl_symbol *symbol,
			const struct flow_made_function *function)
{
	size_t index = order->count;
	struct flow_made_function *same;
	int status = seen ? find_same(seen, symbol, order->count, &index) : 0;

	if (status)
		return status;
	if (index == order->count) {
		if (COMMON_VECTOR_RESERVE(order->list, order->capacity, order->count + 1, "names"))
			return PTL_NO_MEMORY;
		order->list[order->count++] = *function;
		return 0;
	}
	same = &order->list[index];
	if (same->time == FLOW_MADE_UNKNOWN) {
		same->after = function->after;
		same->time = function->time;
	}
	if (!same->line_count) {
		same->first_line = function->first_line;
		same->line_count = function->line_count;
	}
	return 0;
}

static int list_functions(struct flow_made_order *order, const struct elf_jit_names *names,
			  const struct elf_made_place *times)
{
	const struct elf_line_list *lines = &names->made.lines;
	struct occurrences seen = {0};
	size_t line = 0;
	int status = 0;

	for (size_t file = 0, i = 0; !status && file < names->file_count; file++) {
		const size_t end = file + 1 < names->file_count ? names->files[file + 1].first
								: names->made.symbols.count;

		common_byte_map_free(&seen.counts);
		for (; !status && i < end; i++) {
			struct flow_made_function function = function_of(&names->made.symbols.list[i], i, &times[i]);

			while (line < lines->count && lines->list[line].symbol < i)
				line++;
			function.first_line = line;
			while (line < lines->count && lines->list[line].symbol == i)
				line++;
			function.line_count = line - function.first_line;
			status = add_function(order, names->file_count > 1 ? &seen : NULL, &names->made.symbols.list[i],
					      &function);
		}
	}
	common_byte_map_free(&seen.counts);
	common_byte_map_free(&seen.indexes);
	common_bytes_free(&seen.key);
	return status;
}

/* ---- functions on functions ---------------------------------------------------------------------- */

/* Topmost functions by address: later functions cover earlier functions. */
struct surface {
	struct format_pieces pieces;
	uint32_t root;
};

/* Finds the next topmost function in [*at, last]: piece->image is the function's index. Moves *at behind the piece. */
static bool next_below(const struct surface *surface, uint64_t *at, uint64_t last, bool *done,
		       struct format_piece *piece)
{
	if (*done || !format_pieces_at_or_after(&surface->pieces, surface->root, *at, piece) || piece->first > last)
		return false;
	*done = piece->last >= last;
	*at = piece->last + 1;
	return true;
}

static int put_function(struct surface *surface, const struct flow_made_function *function, size_t i)
{
	const struct format_piece piece = {
		.first = function->first, .last = function->last, .image = (uint32_t)i, .blob = UINT32_MAX};

	format_pieces_put(&surface->pieces, &surface->root, &piece);
	return surface->pieces.failed ? common_fail_memory("names", 0) : 0;
}

static int find_before(struct flow_made_order *order, const struct surface *surface,
		       struct flow_made_function *function)
{
	struct format_piece piece;
	uint64_t at = function->first;
	bool done = false;

	function->first_before = order->before_count;
	while (next_below(surface, &at, function->last, &done, &piece)) {
		if (COMMON_VECTOR_RESERVE(order->before, order->before_capacity, order->before_count + 1, "names"))
			return PTL_NO_MEMORY;
		order->before[order->before_count++] = piece.image;
	}
	function->before_count = order->before_count - function->first_before;
	return 0;
}

int flow_made_order_begin(struct flow_made_order *order, const struct elf_jit_names *names,
			  const struct elf_made_place *times, struct flow_made_history *history)
{
	struct surface surface = {0};
	int status;

	order->pid = names->pid;
	status = list_functions(order, names, times);
	if (!status && order->count >= UINT32_MAX)
		status = common_fail(PTL_NO_MEMORY, "%zu functions are too many", order->count);
	for (size_t i = 0; !status && i < order->count; i++) {
		struct flow_made_function *function = &order->list[i];

		status = find_before(order, &surface, function);
		if (!status && function->before_count && !names->any)
			status = flow_made_history_want(history, order->pid, function->first, function->last);
		if (!status)
			status = put_function(&surface, function, i);
	}
	format_pieces_free(&surface.pieces);
	return status;
}

void flow_made_order_free(struct flow_made_order *order)
{
	free(order->list);
	free(order->before);
	*order = (struct flow_made_order){0};
}

/* ---- starts -------------------------------------------------------------------------------------- */

/* Returns the latest time of functions below, before the function's time. *same: a function below has an equal time. */
static uint64_t look_below(const struct flow_made_order *order, const struct flow_made_function *function, bool *same)
{
	uint64_t earlier = 0;

	*same = false;
	for (size_t i = 0; i < function->before_count; i++) {
		const struct flow_made_function *below = &order->list[order->before[function->first_before + i]];

		*same |= below->time == function->time;
		if (below->time < function->time && below->time > earlier)
			earlier = below->time;
	}
	return earlier;
}

/* Bounds the starts of the functions below by a time. 0: functions below are never visible; count: adds to `replaced`. */
static void bound_below(struct flow_made_order *order, const struct flow_made_function *function, uint64_t until,
			bool count)
{
	for (size_t i = 0; i < function->before_count; i++) {
		struct flow_made_function *below = &order->list[order->before[function->first_before + i]];

		if (below->until > until)
			below->until = until;
		if (below->next > function->time)
			below->next = function->time;
		order->replaced += count && below->is_visible && !below->until;
		below->is_visible &= below->until != 0;
	}
}

/*
 * Returns the time of the last change in (after, until] that is a new function; 0: no change. Changes below a quarter of
 * the largest change are patches by the compiler.
 */
static uint64_t pick_change(const struct flow_made_time *changes, size_t count, uint64_t after, uint64_t until)
{
	uint64_t largest = 0, picked = 0;

	for (size_t i = 0; i < count; i++)
		if (changes[i].time > after && changes[i].time <= until && changes[i].bytes > largest)
			largest = changes[i].bytes;
	for (size_t i = 0; i < count; i++)
		if (changes[i].time > after && changes[i].time <= until && changes[i].bytes >= largest / 4)
			picked = changes[i].time;
	return picked;
}

/*
 * Returns the start of a function; 0: unknown. A compiler writes a function to its file before the code runs, so the
 * function's change comes before the file gets the next function of the memory. A late compiler writes several functions
 * at once.
 */
static uint64_t find_change(const struct flow_made_function *function, const struct flow_made_time *changes,
			    size_t count, uint64_t earlier, bool same)
{
	const bool is_known = function->time != FLOW_MADE_UNKNOWN;
	uint64_t until = function->next < function->until ? function->next : function->until, start = 0;

	if (is_known && function->after == function->time)
		return function->time < function->until ? function->time : function->until;
	if (is_known)
		start = pick_change(changes, count, function->after, until);
	if (function->time < until)
		until = function->time;
	if (!start && (same || !is_known))
		start = pick_change(changes, count, earlier, until);
	if (!start && !same && is_known)
		start = until;
	return start || !earlier ? start : earlier + 1;
}

static int find_start(struct flow_made_order *order, struct flow_made_function *function,
		      struct flow_made_history *history)
{
	struct flow_made_time *changes = NULL;
	bool same, known = false;
	const uint64_t earlier = look_below(order, function, &same);
	size_t count = 0;
	int status = 0;

	if (!function->is_visible || function->until <= earlier) {
		function->is_visible = false;
		bound_below(order, function, function->until, false);
		return 0;
	}
	if (history)
		status = flow_made_history_changes(history, order->pid, function->first, function->last, &changes,
						   &count, &known);
	if (status)
		return status;
	function->start = find_change(function, changes, count, earlier, same);
	free(changes);
	bound_below(order, function, function->start ? function->start - 1 : 0, !known);
	return 0;
}

/* Gives each function a layer above the functions covered in part, so that functions of a layer do not overlap. */
static int find_layers(struct flow_made_order *order)
{
	struct surface surface = {0};
	int status = 0;

	for (size_t i = 0; !status && i < order->count; i++) {
		struct flow_made_function *function = &order->list[i];
		struct format_piece piece;
		uint64_t at = function->first;
		bool done = false;

		if (!function->is_visible)
			continue;
		while (next_below(&surface, &at, function->last, &done, &piece))
			if (order->list[piece.image].layer >= function->layer)
				function->layer = order->list[piece.image].layer + 1;
		status = put_function(&surface, function, i);
	}
	format_pieces_free(&surface.pieces);
	return status;
}

int flow_made_order_settle(struct flow_made_order *order, struct flow_made_history *history)
{
	int status = 0;

	/* In reverse order: each start bounds the starts of functions below. */
	for (size_t i = order->count; !status && i-- > 0;)
		if (order->list[i].before_count)
			status = find_start(order, &order->list[i], history);
	return status ? status : find_layers(order);
}
