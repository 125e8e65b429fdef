/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A call of a tool: a command that runs in a child process, whose output is bounded. A child shares the opened trace and
 * the timeline, and cannot harm the server: it may fail, crash, or be stopped.
 */
#ifndef DUMP_SERVE_CALL_H
#define DUMP_SERVE_CALL_H

#include <sys/types.h>

#include "dump/serve/cache.h"
#include "dump/serve/tool.h"

#define DUMP_SERVE_ANSWER_MAX (1u << 20)   /* bytes of the records of an answer */
#define DUMP_SERVE_MESSAGES_MAX 100u       /* messages of an answer */
#define DUMP_SERVE_OUTPUT_MAX (256u << 20) /* bytes of output that are read to count records */

enum dump_serve_stop {
	DUMP_SERVE_RUNS,
	DUMP_SERVE_OUT_OF_TIME,
	DUMP_SERVE_ENDLESS,   /* more output than DUMP_SERVE_OUTPUT_MAX */
	DUMP_SERVE_CANCELLED, /* the client wants no answer */
};

/* Lines of a pipe of the child. */
struct dump_serve_pipe {
	int fd; /* -1: closed */
	struct ptl_bytes line;
	uint64_t line_size;     /* bytes of the current line, kept or not */
	uint64_t read;          /* bytes in all */
	struct ptl_bytes whole; /* all bytes, for the cache */
};

struct dump_serve_call {
	const struct dump_serve_tool *tool;
	struct dump_serve_words words;
	pid_t pid; /* 0: none */
	struct dump_serve_pipe out, err;
	struct ptl_bytes records;  /* separated by commas */
	uint64_t seen, kept;       /* records; kept includes records that are too large for an answer */
	bool full;                 /* a record did not fit */
	struct ptl_bytes messages; /* lines */
	uint64_t message_count, message_seen;
	enum dump_serve_stop stop;
	int ended;     /* as of waitpid */
	bool not_kept; /* the output is too large for the cache */
};

/*
 * Starts the child; call->words are made. Returns PTL_SYSTEM. Call dump_serve_call_free in any case.
 */
int dump_serve_call_start(struct dump_serve_call *call, struct dump_prepared *prepared);
/* Takes the output of an earlier call. Returns PTL_NO_MEMORY. */
int dump_serve_call_repeat(struct dump_serve_call *call, const struct dump_serve_output *output);
/* Keeps the output of a finished call in the cache, if the command exited. */
void dump_serve_call_keep(struct dump_serve_call *call, struct dump_serve_cache *cache);
/* Reads from a pipe once. Returns PTL_NO_MEMORY. */
int dump_serve_call_read(struct dump_serve_call *call, struct dump_serve_pipe *pipe);
/* Stops the child. */
void dump_serve_call_stop(struct dump_serve_call *call, enum dump_serve_stop why);
/* Whether both pipes have ended. */
bool dump_serve_call_is_over(const struct dump_serve_call *call);
/* Waits for the child, and writes the members of the result to the open object. Returns PTL_NO_MEMORY. */
int dump_serve_call_result(struct dump_serve_call *call, struct common_json *json);
/* Stops and reaps the child, too. */
void dump_serve_call_free(struct dump_serve_call *call);

#endif
