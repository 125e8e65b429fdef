/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decodes the same packets again and again with libptl-flow, as a fuzzer or a monitor does: a decoder knows the code after
 * the first round.
 *
 *	cc -o rounds rounds.c $(pkg-config --cflags --libs ptl-flow)
 *	./rounds [--rounds N] [--exact] [--pieces BYTES] PACKETS ADDRESS CODE
 *
 * PACKETS is a file with a CPU's packets, CODE the code at ADDRESS. --pieces feeds packets in pieces, as a CPU's buffer
 * gives them. --exact counts edges exactly, and prints all edges with their counts. Otherwise edges are counted in a
 * bitmap, and the program prints the number of bytes that are not 0. Standard error has the sums of the last round, and
 * the best time of a round.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <ptl/decoder.h>

#define BITMAP_SIZE (1u << 16)

struct rounds {
	struct ptl_decoder *decoder;
	uint8_t bitmap[BITMAP_SIZE];
	unsigned long count;
	size_t piece; /* 0: one piece */
	bool exact;
};

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Decodes the packets of a round. */
static int decode(struct rounds *rounds, const uint8_t *pt, size_t size, struct ptl_decoder_sums *sums)
{
	int status = 0;

	if (!rounds->piece)
		return ptl_decoder_run(rounds->decoder, pt, size, sums);
	for (size_t at = 0; !status && at < size; at += rounds->piece)
		status = ptl_decoder_feed(rounds->decoder, pt + at,
					  size - at < rounds->piece ? size - at : rounds->piece);
	return status ? status : ptl_decoder_end(rounds->decoder, sums);
}

static int open_decoder(struct rounds *rounds, const struct ptl_flow_memory *memory)
{
	const struct ptl_decoder_options options = {
		.size = sizeof(options),
		.memory = memory,
		.memory_count = 1,
		.outputs = rounds->exact ? PTL_DECODER_EDGES : 0,
		.bitmap = rounds->exact ? NULL : rounds->bitmap,
		.bitmap_size = rounds->exact ? 0 : BITMAP_SIZE,
	};

	return ptl_decoder_new(&options, &rounds->decoder);
}

static size_t known_edges(const struct rounds *rounds)
{
	size_t count;

	ptl_decoder_edges(rounds->decoder, &count);
	return count;
}

static int run(struct rounds *rounds, const uint8_t *pt, size_t size)
{
	struct ptl_decoder_sums sums = {0};
	double best = 1e9;
	int status = 0;

	for (unsigned long round = 0; !status && round < rounds->count; round++) {
		const double start = seconds();
		double duration;

		memset(rounds->bitmap, 0, sizeof(rounds->bitmap));
		status = decode(rounds, pt, size, &sums);
		duration = seconds() - start;
		best = duration < best ? duration : best;
		if (round && sums.first_edge < known_edges(rounds))
			fprintf(stderr, "round %lu has new edges\n", round);
	}
	if (!status)
		fprintf(stderr, "%llu instructions, %llu blocks, %llu gaps, %.3f ms a round\n",
			(unsigned long long)sums.instructions, (unsigned long long)sums.blocks,
			(unsigned long long)sums.gaps, best * 1e3);
	return status;
}

static void print(const struct rounds *rounds)
{
	size_t count, used = 0;
	const struct ptl_decoder_edge *edges = ptl_decoder_edges(rounds->decoder, &count);

	for (size_t i = 0; i < count; i++)
		printf("%llx %llx %llu\n", (unsigned long long)edges[i].from, (unsigned long long)edges[i].to,
		       (unsigned long long)edges[i].count);
	for (size_t i = 0; !rounds->exact && i < BITMAP_SIZE; i++)
		used += rounds->bitmap[i] != 0;
	if (!rounds->exact)
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

/* Returns the index of the first argument that is no option; 0: a mistake. */
static int parse(struct rounds *rounds, int argc, char **argv)
{
	int i = 1;

	for (; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "--exact"))
			rounds->exact = true;
		else if (!strcmp(argv[i], "--rounds") && i + 1 < argc)
			rounds->count = strtoul(argv[++i], NULL, 10);
		else if (!strcmp(argv[i], "--pieces") && i + 1 < argc)
			rounds->piece = strtoul(argv[++i], NULL, 10);
		else
			return 0;
	}
	return rounds->count && i + 3 == argc ? i : 0;
}

int main(int argc, char **argv)
{
	static struct rounds rounds = {.count = 1};
	const int i = parse(&rounds, argc, argv);
	struct ptl_flow_memory memory = {0};
	size_t pt_size = 0, code_size = 0;
	void *pt, *code;
	int status;

	if (!i) {
		fprintf(stderr, "usage: rounds [--rounds N] [--exact] [--pieces BYTES] PACKETS ADDRESS CODE\n");
		return 2;
	}
	pt = read_file(argv[i], &pt_size);
	code = read_file(argv[i + 2], &code_size);
	memory.address = strtoull(argv[i + 1], NULL, 0);
	memory.bytes = code;
	memory.size = code_size;
	status = open_decoder(&rounds, &memory);
	if (!status)
		status = run(&rounds, pt, pt_size);
	if (!status)
		print(&rounds);
	else
		fprintf(stderr, "rounds: %s\n", ptl_error_text());
	ptl_decoder_free(rounds.decoder);
	free(pt);
	free(code);
	return status ? 1 : 0;
}
