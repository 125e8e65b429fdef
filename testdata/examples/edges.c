/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A fuzzer's use of Intel PT, with libptl-flow: after each execution the fuzzer decodes the packets of the CPU, and
 * looks for new edges.
 *
 *	cc -o edges edges.c $(pkg-config --cflags --libs ptl-flow)
 *	./edges [--engine NAME] [--rounds N] PACKETS ADDRESS CODE
 *
 * Here all executions have the same packets: a file with a CPU's packets, for code at an address. Prints all edges from
 * block to block with their counts in a round, and the time of a round on standard error.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <ptl/flow.h>

#define EDGES_MAX (1u << 20) /* a power of two above the number of edges */

struct edge {
	uint64_t from, to;
	uint64_t count;
};

struct edges {
	struct edge *table; /* hash table by both addresses */
	size_t used;
	size_t news; /* new edges of this round */
};

/* Counts the edge. Returns 0, or PTL_NO_MEMORY if the table is full. */
static int count_edge(struct edges *edges, uint64_t from, uint64_t to)
{
	size_t i = (from * 0x9e3779b97f4a7c15u ^ to * 0xc2b2ae3d27d4eb4fu) >> 40 & (EDGES_MAX - 1);
	struct edge *edge;

	for (edge = &edges->table[i]; edge->count; edge = &edges->table[i = (i + 1) & (EDGES_MAX - 1)]) {
		if (edge->from == from && edge->to == to) {
			edge->count++;
			return 0;
		}
	}
	if (edges->used == EDGES_MAX - 1)
		return PTL_NO_MEMORY;
	*edge = (struct edge){from, to, 1};
	edges->used++;
	edges->news++;
	return 0;
}

/* Returns whether the event separates the next block from the last: a gap, or enabled packets. */
static bool breaks(const struct ptl_flow_event *event)
{
	return event->kind == PTL_FLOW_GAP || (event->kind == PTL_FLOW_ENABLED && !(event->flags & PTL_FLOW_RESUMED));
}

/* Decodes one execution. */
static int decode(const struct ptl_flow_raw *raw, const struct ptl_flow_options *options, struct edges *edges)
{
	struct ptl_flow_iterator *iterator = NULL;
	const struct ptl_flow_item *item;
	struct ptl_flow *flow = NULL;
	uint64_t last = 0;
	bool follows = false;
	int status = ptl_flow_open_raw(raw, &flow);

	if (!status)
		status = ptl_flow_iterator_new(flow, options, &iterator);
	while (!status && (status = ptl_flow_next(iterator, &item)) > 0) {
		status = 0;
		if (item->block) {
			if (follows)
				status = count_edge(edges, last, item->block->ip);
			last = item->block->ip;
			follows = true;
		} else if (breaks(item->event)) {
			follows = false;
		}
	}
	ptl_flow_iterator_free(iterator);
	ptl_flow_close(flow);
	return status;
}

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

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int run(const struct ptl_flow_raw *raw, const struct ptl_flow_options *options, unsigned long rounds)
{
	struct edges edges = {.table = calloc(EDGES_MAX, sizeof(*edges.table))};
	int status = edges.table ? 0 : PTL_NO_MEMORY;
	const double start = seconds();

	for (unsigned long round = 0; !status && round < rounds; round++) {
		edges.news = 0;
		status = decode(raw, options, &edges);
		if (round && edges.news)
			fprintf(stderr, "round %lu has %zu edges that are new\n", round, edges.news);
	}
	if (!status)
		fprintf(stderr, "%zu edges, %.3f ms a round\n", edges.used, (seconds() - start) * 1e3 / (double)rounds);
	for (size_t i = 0; !status && i < EDGES_MAX; i++) {
		if (edges.table[i].count)
			printf("%llx %llx %llu\n", (unsigned long long)edges.table[i].from,
			       (unsigned long long)edges.table[i].to,
			       (unsigned long long)edges.table[i].count / rounds);
	}
	free(edges.table);
	return status;
}

int main(int argc, char **argv)
{
	struct ptl_flow_options options = {.size = sizeof(options)};
	struct ptl_flow_memory memory = {0};
	struct ptl_flow_raw raw = {.size = sizeof(raw), .memory = &memory, .memory_count = 1};
	unsigned long rounds = 1;
	size_t code_size = 0;
	void *pt, *code;
	int i = 1, status;

	for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
		if (!strcmp(argv[i], "--engine"))
			options.engine = argv[i + 1];
		else if (!strcmp(argv[i], "--rounds"))
			rounds = strtoul(argv[i + 1], NULL, 10);
	}
	if (i + 3 != argc || !rounds) {
		fprintf(stderr, "usage: edges [--engine NAME] [--rounds N] PACKETS ADDRESS CODE\n");
		return 2;
	}
	pt = read_file(argv[i], &raw.pt_size);
	code = read_file(argv[i + 2], &code_size);
	raw.pt = pt;
	memory.address = strtoull(argv[i + 1], NULL, 0);
	memory.bytes = code;
	memory.size = code_size;
	memory.name = argv[i + 2];
	status = run(&raw, &options, rounds);
	free(pt);
	free(code);
	if (status)
		fprintf(stderr, "edges: %s\n", ptl_error_text());
	return status ? 1 : 0;
}
