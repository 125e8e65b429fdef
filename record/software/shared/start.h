/* SPDX-License-Identifier: BSD-2-Clause */
/* Data that the tracer leaves for the runtime in a program. */
#ifndef RECORD_SOFTWARE_SHARED_START_H
#define RECORD_SOFTWARE_SHARED_START_H

#include <stdint.h>

/* Data for a new program. registers: the program's registers at its first instruction. */
struct runtime_start {
	int32_t arena;  /* descriptor of the arena, to be closed */
	int32_t tracer; /* id of the tracer, to be waited for */
	uint64_t base;  /* address of the runtime's image */
	uint64_t size;  /* bytes of the image */
	uint64_t mask;  /* signal mask for the program: blocked signals */
	uint64_t pc;    /* the program's first instruction */
	uint64_t registers[16];
	uint64_t flags;
	/* Values of the program before execve: */
	uint32_t continued;
	uint32_t process;
	uint64_t time;
	uint64_t epoch;
	int64_t slot;
	int32_t kept_arena, kept_proc; /* descriptors that the program has inherited: the arena, /proc; 0: none */
};

/* Why the runtime is entered; passed in RSI. */
enum runtime_entry {
	RUNTIME_ENTRY_PROGRAM = 0, /* a new program begins; RDI: struct runtime_start */
	RUNTIME_ENTRY_PREPARE =
		1, /* preparation in an attached process, with all threads stopped; RDI: struct runtime_attach */
	RUNTIME_ENTRY_THREAD =
		2, /* a thread of an attached process enters translated code; RDI: struct runtime_thread */
};

/* System call by which the runtime reports that it is prepared; the runtime makes the call at no other time. */
#define RUNTIME_PREPARED_CALL 24 /* sched_yield */

/* Result of an interrupted system call if a signal handler runs before the restart. */
enum runtime_restart {
	RUNTIME_RESTART_NEVER = 0,      /* no call was interrupted */
	RUNTIME_RESTART_ALWAYS = 1,     /* restarted */
	RUNTIME_RESTART_HANDLER = 2,    /* fails with EINTR, or restarted if the handler has SA_RESTART */
	RUNTIME_RESTART_NO_HANDLER = 3, /* fails with EINTR */
};

/* A stopped thread of a running process. */
struct runtime_attach_thread {
	int32_t tid;
	uint32_t restart; /* enum runtime_restart; if not NEVER, pc is at the call's instruction */
	uint64_t registers[16];
	uint64_t pc;
	uint64_t flags;
	uint64_t mask; /* blocked signals */
	uint64_t rseq; /* address of the thread's struct rseq; 0: none is registered */
	uint32_t rseq_size;
	uint32_t rseq_signature;
	uint64_t thread; /* address of struct runtime_thread; set by the runtime */
};

/* Data that the tracer leaves for the runtime in an attached process. */
struct runtime_attach {
	int32_t arena;      /* descriptor of the arena, to be closed */
	uint32_t pid;       /* pid in the recorder's pid namespace */
	uint32_t count;     /* number of threads; the first thread announces the process */
	uint64_t base;      /* address of the runtime's image */
	uint64_t size;      /* bytes of the image */
	uint64_t all;       /* size of the mapping that holds this structure */
	uint32_t result;    /* enum runtime_attach_result; set by the runtime */
	uint32_t announced; /* futex; set by the runtime: the process is announced */
	uint32_t reserved;
	struct runtime_attach_thread threads[];
};

enum runtime_attach_result {
	RUNTIME_ATTACH_FAILED = 0,
	RUNTIME_ATTACH_DONE = 1,
	RUNTIME_ATTACH_NO_ARENA = 2, /* the arena cannot be mapped */
	RUNTIME_ATTACH_NO_CACHE = 3, /* no memory for translated code */
	RUNTIME_ATTACH_NO_SLOT = 4,  /* more threads than the recording has room for */
};

#endif
