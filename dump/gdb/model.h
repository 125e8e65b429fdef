/* SPDX-License-Identifier: BSD-2-Clause */
/* The stopped process shown to gdb: threads with their executed blocks, libraries, memory. */
#ifndef DUMP_GDB_MODEL_H
#define DUMP_GDB_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"
#include "flow/timeline/timeline.h"

/* Instructions at consecutive addresses, executed in order; or a gap. */
struct dump_gdb_block {
	uint64_t begin;        /* address of the first instruction */
	uint64_t end;          /* address of the last instruction */
	uint64_t time;         /* trace clock; 0 unknown */
	uint32_t instructions; /* 0: a gap */
	uint32_t cause;        /* of a gap: enum flow_gap_cause */
};

/* Returns how many of gdb's numbers the block has: one for each instruction, and one for a gap. */
static inline uint64_t dump_gdb_block_numbers(const struct dump_gdb_block *block)
{
	return block->instructions ? block->instructions : 1;
}

struct dump_gdb_thread {
	uint32_t tid;
	uint8_t signal;                 /* signal that ended the process in this thread; 0: none */
	struct flow_fatal_signal fatal; /* details of the signal; signal 0: unknown */
	const char *name;
	struct dump_gdb_block *blocks; /* owned; in order of execution */
	size_t count;
	uint64_t next;         /* address of the instruction behind the last block; 0 unknown */
	uint64_t instructions; /* of all blocks */
	uint64_t before;       /* instructions of the selected trace before the first block */
	uint64_t after;        /* and behind the last block */
};

/* A file that the process has mapped. */
struct dump_gdb_library {
	const char *path; /* as in the trace */
	const char *file; /* the file that gdb reads for this path; NULL: none */
	uint64_t bias;    /* load address minus address in the file */
	uint64_t dynamic; /* address of the dynamic section in memory; 0 unknown */
};

struct dump_gdb_model {
	uint32_t pid;
	struct dump_gdb_thread *threads;
	size_t thread_count;
	size_t current;             /* index of the thread that is shown first */
	size_t threads_in_question; /* candidates: a signal may have ended the process in any of these threads */
	uint64_t generation;        /* another number after each change of the blocks */
	struct dump_gdb_library program;
	const struct dump_gdb_library *libraries;
	size_t library_count;
	void *context; /* of the functions below */
	/* Copies up to size bytes of memory. Returns the number of bytes copied. */
	size_t (*read_memory)(void *context, uint64_t address, uint8_t *bytes, size_t size);
	/* Runs the command of gdb's "monitor", and appends the output. May change the model. */
	void (*monitor)(void *context, const char *command, struct ptl_bytes *text);
};

/* Returns the address at which the thread stands; 0: the thread has no blocks. */
static inline uint64_t dump_gdb_thread_pc(const struct dump_gdb_thread *thread)
{
	if (thread->next)
		return thread->next;
	for (size_t i = thread->count; i > 0; i--)
		if (thread->blocks[i - 1].instructions)
			return thread->blocks[i - 1].end;
	return 0;
}

#endif
