/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A custom decoder with libptl-flow: shows the executed code of each thread of a trace, or of raw packets.
 *
 *	cc -o flow flow.c $(pkg-config --cflags --libs ptl-flow)
 *	./flow [--engine NAME] [--pid N] [--tid N] trace.ptl    counts of each thread, made in parallel
 *	./flow [...] --addresses trace.ptl                      all executed addresses in order, 8 bytes each
 *	./flow [...] --raw packets.pt ADDRESS code.bin          the addresses of packets, with code at ADDRESS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ptl/flow.h>
#include <ptl/reader.h>

struct counts {
	unsigned long long instructions, blocks, branches, gaps;
};

/* ---- a view: counts, in parallel ------------------------------------------------------------------ */

/* On a worker thread: starts the counts of a segment. */
static int begin(void *context, const struct ptl_flow_segment *segment, void **partial)
{
	(void)context;
	(void)segment;
	*partial = calloc(1, sizeof(struct counts));
	return *partial ? 0 : PTL_NO_MEMORY;
}

/* On a worker thread: adds the sums of a batch, and the gaps among its events. */
static int consume(void *context, void *partial, const struct ptl_flow_segment *segment, struct ptl_flow_batch *batch)
{
	struct counts *counts = partial;
	const struct ptl_flow_item *item;

	(void)context;
	(void)segment;
	counts->instructions += ptl_flow_batch_instructions(batch);
	counts->blocks += ptl_flow_batch_blocks(batch);
	counts->branches += ptl_flow_batch_branches(batch);
	while ((item = ptl_flow_batch_next(batch)) != NULL)
		counts->gaps += item->event->kind == PTL_FLOW_GAP;
	return 0;
}

/* In order: adds the counts of the right neighbour to the left. */
static int merge(void *context, void *left, void *right)
{
	struct counts *sum = left;
	const struct counts *more = right;

	(void)context;
	sum->instructions += more->instructions;
	sum->blocks += more->blocks;
	sum->branches += more->branches;
	sum->gaps += more->gaps;
	free(right);
	return 0;
}

/* In order: takes the counts of a complete stream. */
static int finish(void *context, const struct ptl_flow_segment *last, void *result)
{
	const struct counts *counts = result;

	(void)context;
	printf("%u %u %llu %llu %llu %llu\n", last->pid, last->tid, counts->instructions, counts->blocks,
	       counts->branches, counts->gaps);
	free(result);
	return 0;
}

static void drop(void *context, void *partial)
{
	(void)context;
	free(partial);
}

static int print_counts(struct ptl_flow *flow, const struct ptl_flow_options *options)
{
	const struct ptl_flow_view view = {
		.size = sizeof(view),
		.counts_only = true,
		.begin = begin,
		.consume = consume,
		.merge = merge,
		.finish = finish,
		.drop = drop,
	};

	return ptl_flow_run(flow, options, &view, NULL);
}

/* ---- an iterator: one item after the other ----------------------------------------------------------- */

static int print_block(const struct ptl_flow_block *block)
{
	uint64_t *addresses = malloc(block->instructions * sizeof(*addresses));

	if (!addresses)
		return PTL_NO_MEMORY;
	ptl_flow_block_addresses(block, addresses);
	fwrite(addresses, sizeof(*addresses), block->instructions, stdout);
	free(addresses);
	return 0;
}

static int print_addresses(struct ptl_flow *flow, const struct ptl_flow_options *options)
{
	struct ptl_flow_iterator *iterator;
	const struct ptl_flow_item *item;
	int status = ptl_flow_iterator_new(flow, options, &iterator);

	if (status)
		return status;
	while ((status = ptl_flow_next(iterator, &item)) > 0) {
		if (item->block)
			status = print_block(item->block);
		else if (item->event->kind == PTL_FLOW_GAP)
			fprintf(stderr, "gap in stream %u at %llu: %s\n", item->segment->stream,
				(unsigned long long)item->event->offset, ptl_flow_gap_cause_name(item->event->cause));
		if (status < 0)
			break;
	}
	ptl_flow_iterator_free(iterator);
	return status;
}

/* ---- opening ------------------------------------------------------------------------------------------ */

static void *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	void *data = NULL;
	long end;

	if (!file)
		return NULL;
	if (!fseek(file, 0, SEEK_END) && (end = ftell(file)) > 0 && !fseek(file, 0, SEEK_SET)) {
		*size = (size_t)end;
		data = malloc(*size);
		if (data && fread(data, 1, *size, file) != *size) {
			free(data);
			data = NULL;
		}
	}
	fclose(file);
	return data;
}

static int open_raw(char **arguments, struct ptl_flow **flow)
{
	struct ptl_flow_memory memory = {.address = strtoull(arguments[1], NULL, 0), .name = arguments[2]};
	struct ptl_flow_raw raw = {.size = sizeof(raw), .memory = &memory, .memory_count = 1};
	size_t code_size = 0;
	void *pt = read_file(arguments[0], &raw.pt_size);
	void *code = read_file(arguments[2], &code_size);
	int status;

	raw.pt = pt;
	memory.bytes = code;
	memory.size = code_size;
	status = ptl_flow_open_raw(&raw, flow);
	free(pt);
	free(code);
	return status;
}

static int usage(void)
{
	fprintf(stderr, "usage: flow [--engine NAME] [--pid N] [--tid N] [--addresses] TRACE.ptl\n"
			"       flow [...] --raw PACKETS ADDRESS CODE\n");
	return 2;
}

int main(int argc, char **argv)
{
	struct ptl_flow_options options = {.size = sizeof(options)};
	struct ptl_trace *trace = NULL;
	struct ptl_flow *flow = NULL;
	bool addresses = false, raw = false;
	uint32_t pid, tid;
	int i, status;

	for (i = 1; i < argc && argv[i][0] == '-' && !raw; i++) {
		if (!strcmp(argv[i], "--addresses")) {
			addresses = true;
		} else if (!strcmp(argv[i], "--raw")) {
			raw = true;
		} else if (!strcmp(argv[i], "--engine") && i + 1 < argc) {
			options.engine = argv[++i];
		} else if (!strcmp(argv[i], "--pid") && i + 1 < argc) {
			pid = (uint32_t)strtoul(argv[++i], NULL, 0);
			options.pids = &pid;
			options.pid_count = 1;
		} else if (!strcmp(argv[i], "--tid") && i + 1 < argc) {
			tid = (uint32_t)strtoul(argv[++i], NULL, 0);
			options.tids = &tid;
			options.tid_count = 1;
		} else {
			return usage();
		}
	}
	if (argc - i != (raw ? 3 : 1))
		return usage();
	if (raw) {
		status = open_raw(&argv[i], &flow);
	} else {
		status = ptl_open(argv[i], NULL, &trace);
		if (!status)
			status = ptl_flow_open(trace, &flow);
	}
	if (!status)
		status = addresses ? print_addresses(flow, &options) : print_counts(flow, &options);
	if (status)
		fprintf(stderr, "flow: %s\n", ptl_error_text());
	ptl_flow_close(flow);
	ptl_close(trace);
	return status ? 1 : 0;
}
