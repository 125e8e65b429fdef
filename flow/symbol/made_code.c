/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the files of just-in-time compilers in a trace, and builds layers of functions. */
#include "flow/symbol/made_code.h"

#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/partition.h"
#include "common/vector.h"
#include "flow/symbol/made_order.h"

#define FILE_MAX_SIZE ((size_t)256 << 20)
#define TOTAL_MAX ((uint64_t)1 << 30)
#define TIMES_MAX ((size_t)16 << 20) /* bytes of the times of one file */

/* ---- times --------------------------------------------------------------------------------------- */

/* Times of a file's content: see PTL_ATTACHMENT_JIT_TIMES. */
struct times {
	uint8_t *data;
	size_t count;
	int64_t shift; /* nanoseconds to add to the machine's times */
};

#define ROW_SIZE 24u

static uint64_t place_at(const struct times *times, size_t i)
{
	return common_load64(times->data + ROW_SIZE * i);
}

static uint64_t after_at(const struct times *times, size_t i)
{
	return common_load64(times->data + ROW_SIZE * i + 8) + (uint64_t)times->shift;
}

static uint64_t time_at(const struct times *times, size_t i)
{
	return common_load64(times->data + ROW_SIZE * i + 16) + (uint64_t)times->shift;
}

static void read_times(struct ptl_trace *trace, const struct ptl_attachment *file, struct times *times)
{
	const struct ptl_machine *machine = ptl_machine_of(trace, file->pid);
	size_t size;

	*times = (struct times){.shift = machine ? machine->time_shift : 0};
	for (size_t i = 0; i < ptl_attachment_count(trace); i++) {
		const struct ptl_attachment *attachment = ptl_attachment_at(trace, i);

		if (attachment->kind != PTL_ATTACHMENT_JIT_TIMES || attachment->pid != file->pid ||
		    attachment->id_size != PTL_HASH_SIZE || memcmp(attachment->id, file->hash, PTL_HASH_SIZE) != 0)
			continue;
		if (!ptl_blob_read(trace, attachment->hash, TIMES_MAX, &times->data, &size))
			times->count = size / ROW_SIZE;
		return;
	}
}

/* Returns the time of a map's line: between the last look without the line, and the first look with the line. */
static struct elf_made_place map_time(const struct times *times, uint64_t place)
{
	const size_t i = COMMON_PARTITION(times->count, at, place_at(times, at) < place);

	if (i == times->count)
		return (struct elf_made_place){.at = FLOW_MADE_UNKNOWN};
	return (struct elf_made_place){.at = time_at(times, i), .after = after_at(times, i)};
}

/* Returns the trace's time of a jitdump's record. Compilers read CLOCK_MONOTONIC before the code runs; time 0: unknown. */
static struct elf_made_place dump_time(const struct times *times, const struct ptl_machine *machine, uint64_t time)
{
	size_t i;

	if (!time || (!times->count && (!machine || machine->clock != PTL_CLOCK_MONOTONIC)))
		return (struct elf_made_place){.at = FLOW_MADE_UNKNOWN};
	if (times->count) {
		i = COMMON_PARTITION(times->count, at, place_at(times, at) <= time);
		i -= i > 0;
		time += time_at(times, i) - place_at(times, i);
	} else {
		time += (uint64_t)machine->time_shift;
	}
	return (struct elf_made_place){.at = time, .after = time};
}

/* Returns the index behind the last symbol of a file. */
static size_t file_end(const struct elf_jit_names *names, size_t file)
{
	return file + 1 < names->file_count ? names->files[file + 1].first : names->made.symbols.count;
}

/* Replaces the places of a file's functions by times of the trace. */
static void set_times(struct elf_jit_names *names, size_t file, const struct times *times,
		      const struct ptl_machine *machine)
{
	for (size_t i = names->files[file].first; i < file_end(names, file); i++)
		names->made.places[i] = names->files[file].jitdump ? dump_time(times, machine, names->made.places[i].at)
								   : map_time(times, names->made.places[i].at);
}

/* ---- files --------------------------------------------------------------------------------------- */

/* Returns the trace's files. They own the strings of the names. */
static struct elf_jit_set *read_set(const struct flow_made_set *set)
{
	return set->owner;
}

static void free_read_set(void *owner)
{
	elf_jit_set_free(owner);
	free(owner);
}

/* Returns the names of a process; NULL: no file of the process was read. */
static struct elf_jit_names *names_of(const struct elf_jit_set *set, uint32_t pid)
{
	for (size_t i = 0; i < set->count; i++)
		if (!set->list[i]->any && set->list[i]->pid == pid)
			return set->list[i];
	return NULL;
}

static int read_file(struct flow_made_set *set, struct ptl_trace *trace, const struct ptl_attachment *attachment,
		     uint64_t *bytes)
{
	struct elf_symbol_source source = {.fd = -1};
	const struct elf_jit_names *before = names_of(read_set(set), attachment->pid);
	const size_t files = before ? before->file_count : 0;
	struct elf_jit_names *names;
	struct times times;
	uint8_t *data;
	int status = *bytes < TOTAL_MAX ? ptl_blob_read(trace, attachment->hash, FILE_MAX_SIZE, &data, &source.size)
					: PTL_NO_MEMORY;

	if (!status) {
		*bytes += source.size;
		source.data = data;
		status = elf_jit_set_add(read_set(set), attachment->name, &source, attachment->pid);
		free(data);
	}
	/* A recording may end while the file is being written, so a truncated file is normal. */
	set->unreadable += status < 0 && status != PTL_TRUNCATED;
	names = names_of(read_set(set), attachment->pid);
	if (!names || names->file_count == files)
		return 0;
	read_times(trace, attachment, &times);
	set_times(names, files, &times, ptl_machine_of(trace, attachment->pid));
	free(times.data);
	return 0;
}

/* Whether the user gave files for the process. The trace's files of the process are then ignored. */
static bool is_given(const struct elf_jit_set *given, uint32_t pid)
{
	return elf_jit_set_find(given, pid) != NULL;
}

static int read_files(struct flow_made_set *set, struct ptl_trace *trace)
{
	const struct elf_jit_set *given = elf_jit_names_given();
	uint64_t bytes = 0;
	int status = 0;

	for (size_t i = 0; !status && i < ptl_attachment_count(trace); i++) {
		const struct ptl_attachment *attachment = ptl_attachment_at(trace, i);

		if (attachment->kind == PTL_ATTACHMENT_JIT && !is_given(given, attachment->pid))
			status = read_file(set, trace, attachment, &bytes);
	}
	return status;
}

/* ---- layers -------------------------------------------------------------------------------------- */

static int count_layers(struct flow_made_names *names, const struct flow_made_order *order)
{
	names->layer_count = 1;
	for (size_t i = 0; i < order->count; i++)
		if (order->list[i].is_visible && order->list[i].layer >= names->layer_count)
			names->layer_count = order->list[i].layer + 1;
	names->layers = calloc(names->layer_count, sizeof(*names->layers));
	if (!names->layers)
		return common_fail_memory("names", names->layer_count * sizeof(*names->layers));
	for (size_t i = 0; i < order->count; i++) {
		if (!order->list[i].is_visible)
			continue;
		names->layers[order->list[i].layer].count++;
		names->layers[order->list[i].layer].line_count += order->list[i].line_count;
	}
	for (size_t i = 0; i < names->layer_count; i++) {
		struct flow_made_layer *layer = &names->layers[i];

		layer->symbols = calloc(layer->count + 1, sizeof(*layer->symbols));
		layer->lines = calloc(layer->line_count + 1, sizeof(*layer->lines));
		if (!layer->symbols || !layer->lines)
			return common_fail_memory("names", layer->count * sizeof(*layer->symbols));
		layer->count = layer->line_count = 0;
	}
	return 0;
}

static int fill_layers(struct flow_made_names *names, const struct flow_made_order *order,
		       const struct elf_made_list *made)
{
	const int status = count_layers(names, order);

	for (size_t i = 0; !status && i < order->count; i++) {
		const struct flow_made_function *function = &order->list[i];
		struct flow_made_layer *layer = &names->layers[function->layer];

		if (!function->is_visible)
			continue;
		layer->symbols[layer->count++] = made->symbols.list[function->symbol];
		if (function->line_count)
			memcpy(layer->lines + layer->line_count, made->lines.list + function->first_line,
			       function->line_count * sizeof(*layer->lines));
		layer->line_count += function->line_count;
	}
	return status;
}

static int add_changes(struct flow_made_set *set, uint32_t names, const struct flow_made_order *order)
{
	for (size_t i = 0; i < order->count; i++) {
		const struct flow_made_function *function = &order->list[i];

		if (!function->is_visible || !function->layer)
			continue;
		if (COMMON_VECTOR_RESERVE(set->changes, set->change_capacity, set->change_count + 1, "names"))
			return PTL_NO_MEMORY;
		set->changes[set->change_count++] = (struct flow_made_change){.time = function->start,
									      .first = function->first,
									      .last = function->last,
									      .layer = function->layer,
									      .names = names,
									      .order = i};
	}
	return 0;
}

static int by_time(const void *left, const void *right)
{
	const struct flow_made_change *a = left, *b = right;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	if (a->names != b->names)
		return a->names < b->names ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

/* ---- all of a trace ------------------------------------------------------------------------------ */

/* Functions of each process, by files. */
struct orders {
	const struct elf_jit_names **names;
	struct flow_made_order *list;
	size_t count;
	struct flow_made_history history;
};

static int add_order(struct orders *orders, const struct elf_jit_names *names, const struct elf_made_place *times)
{
	const size_t i = orders->count++;

	orders->names[i] = names;
	return flow_made_order_begin(&orders->list[i], names, times, &orders->history);
}

/* Adds names from the user's files. The times are a copy, because several traces, each with another clock, may use the files. */
static int add_given(struct orders *orders, struct ptl_trace *trace, const struct elf_jit_names *names)
{
	const struct ptl_machine *machine = ptl_machine_of(trace, names->any ? 0 : names->pid);
	const struct times none = {0};
	struct elf_made_place *times = calloc(names->made.symbols.count + 1, sizeof(*times));
	int status = times ? 0 : common_fail_memory("names", names->made.symbols.count * sizeof(*times));

	for (size_t file = 0, i = 0; !status && file < names->file_count; file++)
		for (; i < file_end(names, file); i++)
			times[i] = names->files[file].jitdump ? dump_time(&none, machine, names->made.places[i].at)
							      : map_time(&none, 0);
	if (!status)
		status = add_order(orders, names, times);
	free(times);
	return status;
}

static int list_orders(struct flow_made_set *set, struct ptl_trace *trace, struct orders *orders)
{
	const struct elf_jit_set *given = elf_jit_names_given();
	int status = 0;

	orders->history.trace = trace;
	orders->names = calloc(given->count + read_set(set)->count + 1, sizeof(*orders->names));
	orders->list = calloc(given->count + read_set(set)->count + 1, sizeof(*orders->list));
	set->list = calloc(given->count + read_set(set)->count + 1, sizeof(*set->list));
	if (!orders->names || !orders->list || !set->list)
		return common_fail_memory("names", (given->count + read_set(set)->count) * sizeof(*orders->list));
	for (size_t i = 0; !status && i < given->count; i++)
		status = add_given(orders, trace, given->list[i]);
	for (size_t i = 0; !status && i < read_set(set)->count; i++)
		status = add_order(orders, read_set(set)->list[i], read_set(set)->list[i]->made.places);
	return status;
}

static int settle(struct flow_made_set *set, struct orders *orders)
{
	int status = flow_made_history_read(&orders->history);

	for (size_t i = 0; !status && i < orders->count; i++) {
		const struct elf_jit_names *names = orders->names[i];
		struct flow_made_names *own = names->any ? &set->any : &set->list[set->count];

		status = flow_made_order_settle(&orders->list[i], names->any ? NULL : &orders->history);
		own->pid = names->pid;
		if (!status && !names->any)
			status = common_hash_map_put(&set->by_pid, names->pid, set->count);
		if (!status)
			status = fill_layers(own, &orders->list[i], &names->made);
		if (!status && !names->any)
			status = add_changes(set, (uint32_t)set->count, &orders->list[i]);
		set->count += !names->any;
		set->replaced += orders->list[i].replaced;
	}
	return status;
}

int flow_made_open(struct flow_made_set *set, struct ptl_trace *trace)
{
	struct orders orders = {0};
	int status;

	set->free_owner = free_read_set;
	set->owner = calloc(1, sizeof(struct elf_jit_set));
	status = set->owner ? read_files(set, trace) : common_fail_memory("names", sizeof(struct elf_jit_set));

	if (!status && !read_set(set)->count && !elf_jit_names_given()->count)
		return 0;
	if (!status)
		status = list_orders(set, trace, &orders);
	if (!status)
		status = settle(set, &orders);
	if (!status && set->change_count)
		qsort(set->changes, set->change_count, sizeof(*set->changes), by_time);
	for (size_t i = 0; i < orders.count; i++)
		flow_made_order_free(&orders.list[i]);
	flow_made_history_free(&orders.history);
	free(orders.list);
	free(orders.names);
	return status;
}

int flow_made_timeline(struct ptl_trace *trace, struct flow_timeline **timeline)
{
	struct flow_made_set made = {0};
	int status = flow_made_open(&made, trace);

	if (status == 0)
		status = flow_timeline_build_named(trace, &made, timeline);
	flow_made_free(&made);
	return status;
}
