/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A fuzzer's executor with libptl-flow: a decoder lives as long as the fuzzer, knows the code after the first
 * executions, and gives the edges of each execution.
 *
 *	cc -o executor executor.c $(pkg-config --cflags --libs ptl-flow)
 *	./executor [--rounds N] [--exact] --source SOURCE -- PROGRAM [ARGUMENT...]
 *	./executor [--rounds N] [--exact] --fork-server fork_server.so -- PROGRAM [ARGUMENT...]
 *	afl-fuzz -i INPUTS -o FINDINGS -- ./executor --fork-server fork_server.so -- PROGRAM [ARGUMENT...]
 *
 * The first form runs PROGRAM for each execution under ptl-record (--source software: without Intel PT; --source intel_pt:
 * with), and decodes the packets of each thread. The second form
 * records a session with the software source, in which fork_server.c forks PROGRAM for each execution; --session-rounds
 * (1000) tells after how many executions the next session begins, because a session's file grows. Addresses are not
 * randomised, so that the code stays where it is.
 *
 * Under afl-fuzz, the executor is AFL's target: it forwards AFL's commands to the fork server, and counts the edges in
 * AFL's bitmap. AFL_MAP_SIZE is the bitmap's size, a power of two.
 *
 * --exact counts edges exactly, and prints all edges with their counts. Otherwise edges are counted in a bitmap, and the
 * executor prints the number of bytes that are not 0. Standard error has the sums of the last execution, and the best time
 * of decoding.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <ptl/decoder.h>
#include <ptl/reader.h>

#define BITMAP_SIZE (1u << 16)
#define PIECE (1u << 16)             /* bytes of packets read from a trace at once */
#define CODE_LIMIT ((size_t)1 << 30) /* bytes of an image */
#define COMMANDS 198                 /* AFL's descriptors: from the fuzzer to the fork server */
#define ANSWERS 199
#define INPUT 197  /* standard input of the executions */
#define FLUSHES 3  /* after so many flushes, packets of a dead process are in the file */
#define PATIENCE 2 /* seconds until the end of a dead process is in the file */

/* Code that the decoder knows. */
struct image {
	struct image *next;
	uint64_t address;
	uint8_t hash[PTL_HASH_SIZE];
	uint8_t *bytes;
};

/* A recording in which the fork server runs. */
struct session {
	char name[64];
	struct ptl_trace *trace; /* NULL: no session runs */
	int commands, answers;   /* of the fork server */
	unsigned long rounds;    /* executions so far */
	uint64_t seen;           /* events before this time have been read */
	size_t streams;          /* streams before the current execution */
	uint32_t pid;            /* process of the current execution */
	bool ended;              /* the process's end is in the trace */
};

struct executor {
	struct ptl_decoder *decoder;
	struct image *images;
	const char *source;      /* source of ptl-record; NULL: recorded packets */
	const char *fork_server; /* library; NULL: a recording for each execution */
	char *const *program;    /* PROGRAM and its arguments */
	struct session session;
	int afl_commands, afl_answers; /* descriptors of afl-fuzz; 0: none */
	uint8_t *bitmap;
	size_t bitmap_size;
	unsigned long rounds;
	unsigned long session_rounds; /* executions of a session, whose file grows */
	size_t piece;                 /* 0: one piece */
	bool exact;
};

static char trace_path[64]; /* the file that ptl-record writes */

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int open_decoder(struct executor *executor, const struct ptl_machine *machine)
{
	const struct ptl_decoder_options options = {
		.size = sizeof(options),
		.machine = machine,
		.outputs = executor->exact ? PTL_DECODER_EDGES : 0,
		.bitmap = executor->exact ? NULL : executor->bitmap,
		.bitmap_size = executor->exact ? 0 : executor->bitmap_size,
	};

	return ptl_decoder_new(&options, &executor->decoder);
}

/* ---- programs under ptl-record --------------------------------------------------------------------------- */

/* Begins ptl-record with these arguments, and the program behind. */
static pid_t begin_recorder(const char *const *arguments, char *const *program)
{
	const char *argv[80];
	size_t count = 0;
	pid_t pid;

	for (size_t i = 0; arguments[i]; i++)
		argv[count++] = arguments[i];
	for (size_t i = 0; program[i] && count + 1 < sizeof(argv) / sizeof(argv[0]); i++)
		argv[count++] = program[i];
	argv[count] = NULL;
	pid = fork();
	if (pid)
		return pid;
	personality(ADDR_NO_RANDOMIZE);
	execvp(argv[0], (char *const *)argv);
	perror(argv[0]);
	_exit(127);
}

/* Returns the exit status of ptl-record, or -1. */
static int end_recorder(pid_t pid)
{
	int result;

	return pid < 0 || waitpid(pid, &result, 0) != pid || !WIFEXITED(result) ? -1 : WEXITSTATUS(result);
}

/* Runs the program once. Returns 0, or PTL_SYSTEM if there is no trace. */
static int record(const struct executor *executor)
{
	const char *const arguments[] = {"ptl-record", "-q",       "--source", executor->source,
					 "-o",         trace_path, "--",       NULL};
	const int result = end_recorder(begin_recorder(arguments, executor->program));

	return result < 0 || result == 127 ? PTL_SYSTEM : 0;
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

/* Decodes the packets of all threads of one execution: of a process, from a stream on. pid PTL_NO_ID: all processes. */
static int decode_streams(struct executor *executor, struct ptl_trace *trace, size_t first, uint32_t pid,
			  struct ptl_decoder_sums *sums)
{
	int status = 0;

	for (size_t i = first; !status && i < ptl_stream_count(trace); i++) {
		const struct ptl_stream *stream = ptl_stream_at(trace, i);
		struct ptl_decoder_sums own = {0};

		if (stream->kind != PTL_KIND_PT || (pid != PTL_NO_ID && stream->pid != pid))
			continue;
		status = decode_stream(executor, trace, stream, &own);
		sums->instructions += own.instructions;
		sums->blocks += own.blocks;
		sums->gaps += own.gaps;
	}
	return status;
}

/* Records and decodes one execution. *duration: time of decoding. */
static int execute_recorded(struct executor *executor, struct ptl_decoder_sums *sums, double *duration)
{
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = take_event};
	struct ptl_trace *trace = NULL;
	int status = record(executor);

	if (!status)
		status = ptl_open(trace_path, NULL, &trace);
	*duration = seconds();
	if (!status && !executor->decoder)
		status = open_decoder(executor, ptl_trace_machine(trace));
	if (!status)
		status = ptl_process(trace, NULL, &callbacks, executor);
	if (!status)
		status = decode_streams(executor, trace, 0, PTL_NO_ID, sums);
	*duration = seconds() - *duration;
	ptl_close(trace);
	unlink(trace_path);
	return status;
}

/* ---- a session with a fork server ------------------------------------------------------------------------ */

static bool get(int fd, uint32_t *value)
{
	return read(fd, value, sizeof(*value)) == (ssize_t)sizeof(*value);
}

static bool put(int fd, uint32_t value)
{
	return write(fd, &value, sizeof(value)) == (ssize_t)sizeof(value);
}

/* Takes events that have arrived: code, and the end of the execution's process. */
static int take_session_event(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct executor *executor = context;
	struct ptl_bytes storage = {0};
	struct ptl_process_event process;
	int status = ptl_process_decode(event, &storage, &process);

	if (!status && event->descriptor.opcode == PTL_OPCODE_END && process.process_id == executor->session.pid)
		executor->session.ended = true;
	ptl_bytes_free(&storage);
	return status && status != PTL_NOT_OURS ? status : take_event(context, trace, event);
}

/* Called by ptl_realtime_wait with what the file has now. */
static int take_news(void *context, struct ptl_trace *trace)
{
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = take_session_event};
	struct executor *executor = context;
	const struct ptl_event_filter filter = {.size = sizeof(filter), .first_time = executor->session.seen};

	/* ptl_open_realtime calls, too, before the trace is open. */
	return executor->session.trace ? ptl_process(trace, &filter, &callbacks, executor) : 0;
}

/* Ends the fork server, and with the fork server the session. Returns when the recorder has ended. */
static void close_session(struct executor *executor)
{
	static char *const nothing[] = {NULL};
	const char *const arguments[] = {"ptl-record", "stop", executor->session.name, NULL};

	if (!executor->session.trace)
		return;
	close(executor->session.commands);
	close(executor->session.answers);
	ptl_close(executor->session.trace);
	executor->session.trace = NULL;
	while (!ptl_session_flush(executor->session.name))
		usleep(1000);
	unlink(trace_path);
	end_recorder(begin_recorder(arguments, nothing));
}

/* Writes the setting of LD_PRELOAD, which parts paths at blanks and colons: such a path is a descriptor of the executor. */
static int write_preload(const char *library, char preload[4096])
{
	static int descriptor = -1;

	if (!strpbrk(library, " :"))
		return snprintf(preload, 4096, "LD_PRELOAD=%s", library) < 4096 ? 0 : PTL_MISUSE;
	if (descriptor < 0)
		descriptor = open(library, O_RDONLY | O_CLOEXEC);
	snprintf(preload, 4096, "LD_PRELOAD=/proc/%d/fd/%d", (int)getpid(), descriptor);
	return descriptor < 0 ? PTL_SYSTEM : 0;
}

/* Puts the fork server's ends at the numbers of AFL's protocol, and starts the recorder. */
static int start_session(struct executor *executor, int commands, int answers)
{
	char preload[4096];
	const char *const arguments[] = {"ptl-record", "start",   executor->session.name,
					 "-q",         "--force", "--source",
					 "software",   "-o",      trace_path,
					 "--",         "env",     preload,
					 NULL};

	if (write_preload(executor->fork_server, preload) || dup2(commands, COMMANDS) < 0 ||
	    dup2(answers, ANSWERS) < 0 || dup2(STDIN_FILENO, INPUT) < 0)
		return PTL_SYSTEM;
	return end_recorder(begin_recorder(arguments, executor->program)) ? PTL_SYSTEM : 0;
}

static int open_session(struct executor *executor)
{
	const struct ptl_realtime_options options = {.size = sizeof(options), .idle = take_news, .context = executor};
	struct session *session = &executor->session;
	int commands[2], answers[2], status;
	uint32_t hello;

	if (pipe2(commands, O_CLOEXEC) || pipe2(answers, O_CLOEXEC))
		return PTL_SYSTEM;
	status = start_session(executor, commands[0], answers[1]);
	close(commands[0]);
	close(answers[1]);
	close(COMMANDS);
	close(ANSWERS);
	session->commands = commands[1];
	session->answers = answers[0];
	session->rounds = session->seen = session->streams = 0;
	if (!status && !get(session->answers, &hello))
		status = PTL_SYSTEM;
	if (!status)
		status = ptl_open_realtime(trace_path, &options, &session->trace);
	if (!status && !executor->decoder)
		status = open_decoder(executor, ptl_trace_machine(session->trace));
	return status;
}

/* Checks whether the trace has packets of the execution's process. */
static bool has_packets(const struct session *session)
{
	for (size_t i = session->streams; i < ptl_stream_count(session->trace); i++)
		if (ptl_stream_at(session->trace, i)->pid == session->pid)
			return true;
	return false;
}

/* Waits until the trace has all packets of the execution's process, which is dead. */
static int await_packets(struct session *session)
{
	const double start = seconds();
	int status = 0;
	bool more;

	for (unsigned flushes = 0; !status && !session->ended; flushes++) {
		/* A process that AFL killed at once has no packets, and the recorder does not know the process. */
		if (flushes >= FLUSHES && !has_packets(session))
			return 0;
		/* The recorder may not notice the end of a process that AFL killed while the process began. */
		if (seconds() - start > PATIENCE)
			return 0;
		status = ptl_session_flush(session->name);
		if (!status)
			status = ptl_realtime_wait(session->trace, 0, &more);
	}
	return status;
}

/* Runs and decodes one execution. *wait_status: as from waitpid. */
static int execute_forked(struct executor *executor, uint32_t command, struct ptl_decoder_sums *sums, double *duration,
			  uint32_t *wait_status)
{
	struct session *session = &executor->session;
	struct timespec now;
	int status;

	if (session->trace && session->rounds++ == executor->session_rounds)
		close_session(executor);
	status = session->trace ? 0 : open_session(executor);
	if (status)
		return status;
	session->ended = false;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!put(session->commands, command) || !get(session->answers, &session->pid))
		return PTL_SYSTEM;
	/* AFL ends executions that take too long. */
	if (executor->afl_answers && !put(executor->afl_answers, session->pid))
		return PTL_SYSTEM;
	if (!get(session->answers, wait_status))
		return PTL_SYSTEM;
	status = await_packets(session);
	*duration = seconds();
	if (!status)
		status = decode_streams(executor, session->trace, session->streams, session->pid, sums);
	*duration = seconds() - *duration;
	session->seen = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	session->streams = ptl_stream_count(session->trace);
	return status;
}

/* ---- executions ------------------------------------------------------------------------------------------ */

static int execute(struct executor *executor, struct ptl_decoder_sums *sums, double *duration)
{
	uint32_t wait_status;

	*sums = (struct ptl_decoder_sums){0};
	return executor->fork_server ? execute_forked(executor, 0, sums, duration, &wait_status)
				     : execute_recorded(executor, sums, duration);
}

/* A fuzzer would run the program with another input each time. */
static int run(struct executor *executor)
{
	struct ptl_decoder_sums sums = {0};
	size_t edges = 0, known = 0;
	double best = 1e9;
	int status = 0;

	for (unsigned long round = 0; !status && round < executor->rounds; round++) {
		double duration;

		memset(executor->bitmap, 0, executor->bitmap_size);
		status = execute(executor, &sums, &duration);
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

/* ---- under afl-fuzz -------------------------------------------------------------------------------------- */

/* Moves AFL's descriptors, whose numbers the fork server needs, and takes AFL's bitmap. Without afl-fuzz, nothing happens. */
static void find_afl(struct executor *executor)
{
	const char *id = getenv("__AFL_SHM_ID"), *size = getenv("AFL_MAP_SIZE");
	void *map = id ? shmat((int)strtol(id, NULL, 10), NULL, 0) : (void *)-1;

	if (map == (void *)-1)
		return;
	executor->afl_commands = fcntl(COMMANDS, F_DUPFD_CLOEXEC, 3);
	executor->afl_answers = fcntl(ANSWERS, F_DUPFD_CLOEXEC, 3);
	executor->bitmap = map;
	executor->bitmap_size = size ? strtoul(size, NULL, 10) : BITMAP_SIZE;
}

/* afl-fuzz ends the executor by SIGTERM. The recorder ends with the executor. */
static void remove_trace(int signal)
{
	unlink(trace_path);
	_exit(128 + signal);
}

/* Executes for each command of afl-fuzz. AFL clears the bitmap. */
static int serve_afl(struct executor *executor)
{
	uint32_t command, wait_status;
	int status;

	signal(SIGTERM, remove_trace);
	status = open_session(executor);
	if (!status && !put(executor->afl_answers, 0))
		return PTL_SYSTEM;
	while (!status && get(executor->afl_commands, &command)) {
		struct ptl_decoder_sums sums = {0};
		double duration;

		status = execute_forked(executor, command, &sums, &duration, &wait_status);
		if (!status && !put(executor->afl_answers, wait_status))
			break;
	}
	return status;
}

/* ---- the command ----------------------------------------------------------------------------------------- */

static void print(const struct executor *executor)
{
	size_t count, used = 0;
	const struct ptl_decoder_edge *edges = ptl_decoder_edges(executor->decoder, &count);

	for (size_t i = 0; i < count; i++)
		printf("%llx %llx %llu\n", (unsigned long long)edges[i].from, (unsigned long long)edges[i].to,
		       (unsigned long long)edges[i].count);
	for (size_t i = 0; !executor->exact && i < executor->bitmap_size; i++)
		used += executor->bitmap[i] != 0;
	if (!executor->exact)
		printf("%zu\n", used);
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
		else if (!strcmp(argv[i], "--source") && i + 1 < argc)
			executor->source = argv[++i];
		else if (!strcmp(argv[i], "--session-rounds") && i + 1 < argc)
			executor->session_rounds = strtoul(argv[++i], NULL, 10);
		else if (!strcmp(argv[i], "--fork-server") && i + 1 < argc)
			executor->fork_server = argv[++i];
		else
			return 0;
	}
	if (!executor->rounds || !executor->source == !executor->fork_server)
		return 0;
	return i + 1 < argc && !strcmp(argv[i], "--") ? i + 1 : 0;
}

static void free_images(struct image *images)
{
	while (images) {
		struct image *next = images->next;

		free(images->bytes);
		free(images);
		images = next;
	}
}

int main(int argc, char **argv)
{
	static uint8_t bitmap[BITMAP_SIZE];
	static struct executor executor = {
		.bitmap = bitmap, .bitmap_size = BITMAP_SIZE, .rounds = 1, .session_rounds = 1000};
	const int i = parse(&executor, argc, argv);
	int status;

	if (!i) {
		fprintf(stderr,
			"usage: executor [--rounds N] [--exact] --source SOURCE -- PROGRAM [ARGUMENT...]\n"
			"       executor [--rounds N] [--exact] --fork-server LIBRARY -- PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	if (executor.fork_server)
		find_afl(&executor);
	executor.program = argv + i;
	snprintf(executor.session.name, sizeof(executor.session.name), "executor-%ld", (long)getpid());
	snprintf(trace_path, sizeof(trace_path), "executor-%ld.ptl", (long)getpid());
	status = executor.afl_answers ? serve_afl(&executor) : run(&executor);
	if (status)
		fprintf(stderr, "executor: %s\n", ptl_error_text());
	else if (!executor.afl_answers)
		print(&executor);
	close_session(&executor);
	ptl_decoder_free(executor.decoder);
	free_images(executor.images);
	return status ? 1 : 0;
}
