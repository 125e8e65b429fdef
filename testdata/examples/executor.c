/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A fuzzer's executor with libptl-flow: a decoder lives as long as the fuzzer, knows the code after the first
 * executions, and gives the edges of each execution.
 *
 *	cc -o executor executor.c $(pkg-config --cflags --libs ptl-flow)
 *	./executor [--rounds N] [--exact] [--pieces BYTES] PACKETS ADDRESS CODE
 *
 * Here all executions have the same packets: a file with a CPU's packets, for code at an address. --pieces feeds packets
 * in pieces, as a CPU's buffer gives them. --exact counts edges exactly, and prints all edges with their counts.
 * Otherwise edges are counted in a bitmap, and the executor prints the number of bytes that are not 0. Standard error has
 * the sums of the last execution, and the best time of a round.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <ptl/decoder.h>

#define BITMAP_SIZE (1u << 16)

struct executor {
	struct ptl_decoder *decoder;
	uint8_t bitmap[BITMAP_SIZE];
	unsigned long rounds;
	size_t piece; /* 0: one piece */
	bool exact;
	size_t news; /* edges that the first execution did not have */
};

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Decodes the packets of one execution. */
static int decode(struct executor *executor, const uint8_t *pt, size_t size, struct ptl_decoder_sums *sums)
{
	int status = 0;

	if (!executor->piece)
		return ptl_decoder_run(executor->decoder, pt, size, sums);
	for (size_t at = 0; !status && at < size; at += executor->piece)
		status = ptl_decoder_feed(executor->decoder, pt + at,
					  size - at < executor->piece ? size - at : executor->piece);
	return status ? status : ptl_decoder_end(executor->decoder, sums);
}

/* A fuzzer would run the program with another input each time. */
static int run(struct executor *executor, const uint8_t *pt, size_t size)
{
	struct ptl_decoder_sums sums = {0};
	double best = 1e9;
	size_t edges = 0;
	int status = 0;

	for (unsigned long round = 0; !status && round < executor->rounds; round++) {
		double start = seconds();

		memset(executor->bitmap, 0, executor->exact ? 0 : sizeof(executor->bitmap));
		status = decode(executor, pt, size, &sums);
		start = seconds() - start;
		best = start < best ? start : best;
		ptl_decoder_edges(executor->decoder, &edges);
		if (round && sums.first_edge < edges)
			fprintf(stderr, "round %lu has %zu edges that are new\n", round,
				edges - (size_t)sums.first_edge);
	}
	if (!status)
		fprintf(stderr, "%llu instructions, %llu blocks, %llu gaps, %.3f ms a round\n",
			(unsigned long long)sums.instructions, (unsigned long long)sums.blocks,
			(unsigned long long)sums.gaps, best * 1e3);
	return status;
}

static void print(const struct executor *executor)
{
	size_t count, used = 0;
	const struct ptl_decoder_edge *edges = ptl_decoder_edges(executor->decoder, &count);

	for (size_t i = 0; i < count; i++)
		printf("%llx %llx %llu\n", (unsigned long long)edges[i].from, (unsigned long long)edges[i].to,
		       (unsigned long long)edges[i].count);
	for (size_t i = 0; !executor->exact && i < BITMAP_SIZE; i++)
		used += executor->bitmap[i] != 0;
	if (!executor->exact)
		printf("%zu\n", used);
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

static int parse(struct executor *executor, int argc, char **argv)
{
	int i = 1;

	for (; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "--exact"))
			executor->exact = true;
		else if (!strcmp(argv[i], "--rounds") && i + 1 < argc)
			executor->rounds = strtoul(argv[++i], NULL, 10);
		else if (!strcmp(argv[i], "--pieces") && i + 1 < argc)
			executor->piece = strtoul(argv[++i], NULL, 10);
		else
			return 0;
	}
	return i + 3 == argc && executor->rounds ? i : 0;
}

int main(int argc, char **argv)
{
	static struct executor executor = {.rounds = 1};
	struct ptl_flow_memory memory = {0};
	struct ptl_decoder_options options = {.size = sizeof(options), .memory = &memory, .memory_count = 1};
	const int i = parse(&executor, argc, argv);
	size_t pt_size = 0, code_size = 0;
	void *pt, *code;
	int status;

	if (!i) {
		fprintf(stderr, "usage: executor [--rounds N] [--exact] [--pieces BYTES] PACKETS ADDRESS CODE\n");
		return 2;
	}
	pt = read_file(argv[i], &pt_size);
	code = read_file(argv[i + 2], &code_size);
	memory.address = strtoull(argv[i + 1], NULL, 0);
	memory.bytes = code;
	memory.size = code_size;
	options.outputs = executor.exact ? PTL_DECODER_EDGES : 0;
	options.bitmap = executor.exact ? NULL : executor.bitmap;
	options.bitmap_size = executor.exact ? 0 : BITMAP_SIZE;
	status = ptl_decoder_new(&options, &executor.decoder);
	if (!status)
		status = run(&executor, pt, pt_size);
	if (!status)
		print(&executor);
	else
		fprintf(stderr, "executor: %s\n", ptl_error_text());
	ptl_decoder_free(executor.decoder);
	free(pt);
	free(code);
	return status ? 1 : 0;
}
