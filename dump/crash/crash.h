/* SPDX-License-Identifier: BSD-2-Clause */
/* Failures of a trace's processes: places and causes. */
#ifndef DUMP_CRASH_CRASH_H
#define DUMP_CRASH_CRASH_H

#include "common/arena.h"
#include "dump/crash/failure.h"
#include "dump/crash/final_stack.h"
#include "dump/crash/tail.h"
#include "dump/print/source_text.h"
#include "flow/symbol/source_line.h"

#define DUMP_CRASH_NO_INDEX SIZE_MAX

/* A frame of a stack, or a copy of an inlined function in a frame. Strings live as long as the report. */
struct dump_crash_frame {
	const char *function; /* displayed name, not yet safe for a terminal; "" unknown */
	const char *image;    /* last component of the path; "" unknown */
	const char *file;     /* source file; NULL unknown */
	uint32_t line;
	uint64_t address; /* of the instruction; 0 unknown */
	unsigned flags;   /* enum of ANALYSIS_CALL_SHOWN flags */
	bool inlined;
	bool runtime;  /* see dump_crash_is_runtime */
	bool unmapped; /* the image was unmapped before the thread came to the address */
};

/* A source line that the thread executed; without source lines, a branch to a function. */
struct dump_crash_step {
	const char *function;
	const char *image;
	const char *file; /* NULL: a branch */
	uint32_t line;
	const char *words; /* text of the source line; NULL unknown */
	bool after_gap;    /* flow is missing before this line */
	uint64_t address;
};

struct dump_crash_stack {
	struct dump_crash_frame *frames; /* innermost first */
	size_t count;
	size_t missing_at;  /* the missing frames are before this index */
	size_t missing;     /* frames missing of a deep stack */
	size_t place;       /* innermost frame of the program's own code; DUMP_CRASH_NO_INDEX */
	const char *reason; /* meaning of the call that `place` made; NULL unknown */
};

struct dump_crash_thread {
	uint32_t tid;
	const char *name; /* "" unknown */
	enum dump_crash_stop stop;
	uint64_t time; /* of the last executed code, trace clock; 0 unknown */
	struct dump_crash_stack stack;
	struct dump_crash_step *steps; /* the last one comes last */
	size_t step_count;
	bool gap;            /* flow is missing behind the last line */
	const char **events; /* texts of the last events, safe for a terminal; the last one comes last */
	size_t event_count;
};

enum dump_crash_way {
	DUMP_CRASH_WAY_UNKNOWN,
	DUMP_CRASH_WAY_CALL,   /* the place called a function that ends the process */
	DUMP_CRASH_WAY_FAULT,  /* an instruction of the place, or of a function that it called, failed */
	DUMP_CRASH_WAY_RETURN, /* main returned */
	DUMP_CRASH_WAY_PANIC,  /* a panic that nothing caught: `raised` has the place */
};

struct dump_crash {
	struct dump_failure failure;
	enum dump_crash_way way;
	size_t thread; /* index of the thread in which the process failed; DUMP_CRASH_NO_INDEX: unknown */
	struct dump_crash_thread *threads;
	size_t thread_count;
	struct dump_crash_stack raised; /* of `thread`, at the last exception or panic; count 0: none */
	struct dump_crash_frame last;   /* DUMP_CRASH_WAY_RETURN: the return of main */
};

struct dump_crash_limits {
	size_t processes; /* processes with all details */
	size_t steps;     /* source lines of a thread */
	size_t events;    /* events of a thread */
};

struct dump_crash_report {
	/* set by the caller: */
	struct dump_run *run;
	const struct flow_timeline *timeline;
	struct flow_symbols *symbols;
	struct analysis_function_table *functions;
	struct dump_crash_limits limits;
	bool failed_only; /* without failures the report is empty */

	struct dump_failures failures;
	bool running;            /* nothing failed: `failures` lists running processes */
	struct dump_crash *list; /* details of the first failures; in `arena` */
	size_t count;

	struct common_arena arena;
	struct flow_sources *sources;
	struct dump_source_texts texts;
	bool *runtime_images; /* by index in the timeline: the C library and the like; owned */
	struct dump_crash_tails tails;
	struct dump_crash_finals finals;
};

/*
 * Decodes the failed processes, or without failures the running ones. Returns 0, PTL_NO_MEMORY, or a status of
 * flow_view_run. Free in any case.
 */
int dump_crash_report_make(struct dump_crash_report *report);
void dump_crash_report_free(struct dump_crash_report *report);

/*
 * Appends a sentence: "thread 2309 (worker-2) of orders died of SIGSEGV in rebate, orders.cpp:52, called from ...".
 * Safe for a terminal.
 */
void dump_crash_sentence(const struct dump_crash_report *report, const struct dump_crash *crash,
			 struct ptl_bytes *text);
/* Appends a sentence about a thread: "thread 12 (worker-1) is in pthread_mutex_lock, called from transfer". */
void dump_crash_thread_sentence(const struct dump_crash_thread *thread, struct ptl_bytes *text);
/* Whether the thread is in a function that waits for a lock. */
bool dump_crash_waits_for_lock(const struct dump_crash_thread *thread);
/* Appends a name of a function without parameters, safe for a terminal: "total" for "total(order const&)". */
void dump_crash_short_name(const char *name, struct ptl_bytes *text);
/* Returns the place of the failure; NULL: unknown. */
const struct dump_crash_frame *dump_crash_place(const struct dump_crash *crash);
/* Returns the stack of the failure; NULL: unknown. */
const struct dump_crash_stack *dump_crash_stack(const struct dump_crash *crash);

/* ---- parts of dump_crash_report_make ---------------------------------------------------------------- */

/* Makes the stack of frames that stand at `address`; 0: the address is unknown. Returns 0 or PTL_NO_MEMORY. */
int dump_crash_stack_make(struct dump_crash_report *report, const struct dump_crash_frames *frames, uint32_t process,
			  uint64_t address, struct dump_crash_stack *stack);
/*
 * Describes the code at an address: function, source line, and copies of inlined functions around the instruction.
 * Appends to frames, which have room for DUMP_CRASH_INLINED. Returns the number of frames, or PTL_NO_MEMORY.
 */
#define DUMP_CRASH_INLINED 16
int dump_crash_describe(struct dump_crash_report *report, uint32_t image, uint64_t address,
			struct dump_crash_frame *frames);
/* Finds the last executed lines before the stack's place was left. Returns 0 or PTL_NO_MEMORY. */
int dump_crash_steps_make(struct dump_crash_report *report, const struct dump_crash_tail *tail, size_t blocks,
			  struct dump_crash_thread *thread);
/* Reads the last events of all threads of the list. Returns a status of ptl_process. */
int dump_crash_events_read(struct dump_crash_report *report);

#endif
