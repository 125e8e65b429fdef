/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A fuzzer's executor with libptl-flow: a decoder lives as long as the fuzzer, knows the code after the first
 * executions, and gives the edges of each execution.
 *
 *	cc -o executor executor.c $(pkg-config --cflags --libs ptl-flow)
 *	./executor [--rounds N] [--exact] [--pieces BYTES] PACKETS ADDRESS CODE
 *	./executor [--rounds N] [--exact] --source SOURCE -- PROGRAM [ARGUMENT...]
 *
 * The first form has recorded packets for each execution: a file with a CPU's packets, for code at an address. --pieces
 * feeds packets in pieces, as a CPU's buffer gives them. The second form runs PROGRAM for each execution under ptl-record
 * (--source software: without Intel PT; --source intel_pt: with), and decodes the packets of each thread. Addresses are
 * not randomised, so that the code stays where it is.
 *
 * --exact counts edges exactly, and prints all edges with their counts. Otherwise edges are counted in a bitmap, and the
 * executor prints the number of bytes that are not 0. Standard error has the sums of the last execution, and the best time
 * of decoding.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <ptl/decoder.h>
#include <ptl/reader.h>

#define BITMAP_SIZE (1u << 16)
#define PIECE (1u << 16)             /* bytes of packets read from a trace at once */
#define CODE_LIMIT ((size_t)1 << 30) /* bytes of an image */

/* Code that the decoder knows. */
struct image {
	struct image *next;
	uint64_t address;
	uint8_t hash[PTL_HASH_SIZE];
	uint8_t *bytes;
};

struct executor {
	struct ptl_decoder *decoder;
	struct image *images;
	const char *source;   /* source of ptl-record; NULL: recorded packets */
	char *const *program; /* PROGRAM and its arguments */
	char trace[64];       /* the file that ptl-record writes */
	uint8_t bitmap[BITMAP_SIZE];
	unsigned long rounds;
	size_t piece; /* 0: one piece */
	bool exact;
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

static int open_decoder(struct executor *executor, const struct ptl_machine *machine,
			const struct ptl_flow_memory *memory)
{
	const struct ptl_decoder_options options = {
		.size = sizeof(options),
		.machine = machine,
		.memory = memory,
		.memory_count = memory != NULL,
		.outputs = executor->exact ? PTL_DECODER_EDGES : 0,
		.bitmap = executor->exact ? NULL : executor->bitmap,
		.bitmap_size = executor->exact ? 0 : BITMAP_SIZE,
	};

	return ptl_decoder_new(&options, &executor->decoder);
}

/* ---- programs under ptl-record --------------------------------------------------------------------------- */

/* Runs the program once. Returns 0, or PTL_SYSTEM if there is no trace. */
static int record(const struct executor *executor)
{
	const char *argv[64] = {"ptl-record", "-q", "--source", executor->source, "-o", executor->trace, "--"};
	size_t count = 7;
	int result = 0;
	pid_t pid;

	for (size_t i = 0; executor->program[i] && count + 1 < sizeof(argv) / sizeof(argv[0]); i++)
		argv[count++] = executor->program[i];
	pid = fork();
	if (!pid) {
		personality(ADDR_NO_RANDOMIZE);
		execvp(argv[0], (char *const *)argv);
		perror(argv[0]);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &result, 0) != pid || (WIFEXITED(result) && WEXITSTATUS(result) == 127))
		return PTL_SYSTEM;
	return 0;
}

/* Gives the decoder the code of an image, unless the decoder has the code. */
static int add_image(struct executor *executor, struct ptl_trace *trace, const struct ptl_image_event *event)
{
	struct image *image = executor->images;
	struct ptl_flow_memory memory = {.address = event->base, .name = event->file_name};
	size_t size;
	int status;

	while (image && (image->address != event->base || memcmp(image->hash, event->code, PTL_HASH_SIZE)))
		image = image->next;
	if (image)
		return 0;
	image = calloc(1, sizeof(*image));
	if (!image)
		return PTL_NO_MEMORY;
	/* The old code at the address, if any, is kept: the decoder may still use its other parts. */
	image->next = executor->images;
	image->address = event->base;
	memcpy(image->hash, event->code, PTL_HASH_SIZE);
	executor->images = image;
	status = ptl_blob_read(trace, event->code, CODE_LIMIT, &image->bytes, &size);
	memory.bytes = image->bytes;
	memory.size = size;
	return status || !size ? status : ptl_decoder_code(executor->decoder, &memory);
}

static int take_event(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct executor *executor = context;
	struct ptl_bytes storage = {0};
	struct ptl_image_event image;
	int status = ptl_image_decode(event, &storage, &image);

	if (!status && image.has_code)
		status = add_image(executor, trace, &image);
	else if (status == PTL_NOT_OURS)
		status = 0;
	ptl_bytes_free(&storage);
	return status;
}

/* Decodes the packets of a thread. */
static int decode_stream(struct executor *executor, struct ptl_trace *trace, const struct ptl_stream *stream,
			 struct ptl_decoder_sums *sums)
{
	static uint8_t bytes[PIECE];
	uint64_t offset = 0, hole = 0;
	size_t got = 0;
	int status;

	do {
		status = ptl_stream_read(trace, stream->id, offset, bytes, sizeof(bytes), &got, &hole);
		if (!status && got)
			status = ptl_decoder_feed(executor->decoder, bytes, got);
		else if (!status && hole)
			status = ptl_decoder_lost(executor->decoder, hole);
		offset += got ? got : hole;
	} while (!status && (got || hole));
	return status ? status : ptl_decoder_end(executor->decoder, sums);
}

/* Decodes the packets of all threads of one execution. */
static int decode_trace(struct executor *executor, struct ptl_trace *trace, struct ptl_decoder_sums *sums)
{
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = take_event};
	int status = executor->decoder ? 0 : open_decoder(executor, ptl_trace_machine(trace), NULL);

	if (!status)
		status = ptl_process(trace, NULL, &callbacks, executor);
	for (size_t i = 0; !status && i < ptl_stream_count(trace); i++) {
		const struct ptl_stream *stream = ptl_stream_at(trace, i);
		struct ptl_decoder_sums own = {0};

		if (stream->kind != PTL_KIND_PT)
			continue;
		status = decode_stream(executor, trace, stream, &own);
		sums->instructions += own.instructions;
		sums->blocks += own.blocks;
		sums->gaps += own.gaps;
	}
	return status;
}

/* ---- executions ------------------------------------------------------------------------------------------ */

/* Runs and decodes one execution. *seconds: time of decoding. */
static int execute(struct executor *executor, const uint8_t *pt, size_t size, struct ptl_decoder_sums *sums,
		   double *duration)
{
	struct ptl_trace *trace = NULL;
	int status = executor->source ? record(executor) : 0;

	*sums = (struct ptl_decoder_sums){0};
	if (!status && executor->source)
		status = ptl_open(executor->trace, NULL, &trace);
	*duration = seconds();
	if (!status)
		status = trace ? decode_trace(executor, trace, sums) : decode(executor, pt, size, sums);
	*duration = seconds() - *duration;
	ptl_close(trace);
	if (executor->source)
		unlink(executor->trace);
	return status;
}

/* A fuzzer would run the program with another input each time. */
static int run(struct executor *executor, const uint8_t *pt, size_t size)
{
	struct ptl_decoder_sums sums = {0};
	size_t edges = 0, known = 0;
	double best = 1e9;
	int status = 0;

	for (unsigned long round = 0; !status && round < executor->rounds; round++) {
		double duration;

		memset(executor->bitmap, 0, executor->exact ? 0 : sizeof(executor->bitmap));
		status = execute(executor, pt, size, &sums, &duration);
		best = duration < best ? duration : best;
		if (executor->decoder)
			ptl_decoder_edges(executor->decoder, &edges);
		if (round && edges > known)
			fprintf(stderr, "round %lu has %zu edges that are new\n", round, edges - known);
		known = edges;
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

/* Returns the index of the first argument that is no option; 0: a mistake. */
static int parse(struct executor *executor, int argc, char **argv)
{
	int i = 1;

	for (; i < argc && argv[i][0] == '-' && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "--exact"))
			executor->exact = true;
		else if (!strcmp(argv[i], "--rounds") && i + 1 < argc)
			executor->rounds = strtoul(argv[++i], NULL, 10);
		else if (!strcmp(argv[i], "--pieces") && i + 1 < argc)
			executor->piece = strtoul(argv[++i], NULL, 10);
		else if (!strcmp(argv[i], "--source") && i + 1 < argc)
			executor->source = argv[++i];
		else
			return 0;
	}
	if (!executor->rounds)
		return 0;
	if (!executor->source)
		return i + 3 == argc ? i : 0;
	return i + 1 < argc && !strcmp(argv[i], "--") ? i + 1 : 0;
}

/* Runs the program, or reads the packets and the code. */
static int start(struct executor *executor, char **argv)
{
	struct ptl_flow_memory memory = {0};
	size_t pt_size = 0, code_size = 0;
	void *pt, *code;
	int status;

	if (executor->source) {
		executor->program = argv;
		snprintf(executor->trace, sizeof(executor->trace), "executor-%ld.ptl", (long)getpid());
		return run(executor, NULL, 0);
	}
	pt = read_file(argv[0], &pt_size);
	code = read_file(argv[2], &code_size);
	memory.address = strtoull(argv[1], NULL, 0);
	memory.bytes = code;
	memory.size = code_size;
	status = open_decoder(executor, NULL, &memory);
	if (!status)
		status = run(executor, pt, pt_size);
	if (!status)
		print(executor);
	ptl_decoder_free(executor->decoder);
	executor->decoder = NULL;
	free(pt);
	free(code);
	return status;
}

int main(int argc, char **argv)
{
	static struct executor executor = {.rounds = 1};
	const int i = parse(&executor, argc, argv);
	int status;

	if (!i) {
		fprintf(stderr, "usage: executor [--rounds N] [--exact] [--pieces BYTES] PACKETS ADDRESS CODE\n"
				"       executor [--rounds N] [--exact] --source SOURCE -- PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	status = start(&executor, argv + i);
	if (status)
		fprintf(stderr, "executor: %s\n", ptl_error_text());
	else if (executor.source)
		print(&executor);
	ptl_decoder_free(executor.decoder);
	while (executor.images) {
		struct image *next = executor.images->next;

		free(executor.images->bytes);
		free(executor.images);
		executor.images = next;
	}
	return status ? 1 : 0;
}
