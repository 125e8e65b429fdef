/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tracer that puts the runtime into a program leaves for it. */
#ifndef RECORD_SOFTWARE_SHARED_START_H
#define RECORD_SOFTWARE_SHARED_START_H

#include <stdint.h>

/* Registers of the new program at the runtime's first instruction; the others are the kernel's. */
struct runtime_start {
	int32_t arena;  /* descriptor of the arena, to be closed */
	int32_t tracer; /* id of the process that put the runtime here, to be waited for */
	uint64_t base;  /* where the runtime's image is mapped, */
	uint64_t size;  /* and its size */
	uint64_t mask;  /* blocked signals that the program shall have */
	uint64_t pc;    /* the program's first instruction */
	uint64_t registers[16];
	uint64_t flags;
	/* From here on: of the program before execve. */
	uint32_t continued;
	uint32_t process;
	uint64_t time;
	uint64_t epoch;
	int64_t slot;
};

/* What the runtime is entered for, by RSI. */
enum runtime_entry {
	RUNTIME_ENTRY_PROGRAM = 0, /* a new program begins; RDI: struct runtime_start */
	RUNTIME_ENTRY_PREPARE =
		1, /* a running process is attached to, all threads are stopped; RDI: struct runtime_attach */
	RUNTIME_ENTRY_THREAD =
		2, /* a thread of such a process goes on in translated code; RDI: its struct runtime_thread */
};

/* The system call that the runtime makes when it is prepared, and makes at no other time. */
#define RUNTIME_PREPARED_CALL 24 /* sched_yield */

/* How a system call ends that the tracer interrupted, if a signal's handler runs before the call is made again. */
enum runtime_restart {
	RUNTIME_RESTART_NEVER = 0,      /* no call was interrupted */
	RUNTIME_RESTART_ALWAYS = 1,     /* it is made again */
	RUNTIME_RESTART_HANDLER = 2,    /* it fails with EINTR, unless the handler has SA_RESTART */
	RUNTIME_RESTART_NO_HANDLER = 3, /* it fails with EINTR */
};

/* A thread of a running process, as it was stopped. */
struct runtime_attach_thread {
	int32_t tid;
	uint32_t restart; /* enum runtime_restart; pc is then at the call's instruction */
	uint64_t registers[16];
	uint64_t pc;
	uint64_t flags;
	uint64_t mask; /* blocked signals */
	uint64_t rseq; /* address of the thread's struct rseq; 0: none is registered */
	uint32_t rseq_size;
	uint32_t rseq_signature;
	uint64_t thread; /* by the runtime: its struct runtime_thread */
};

/* What the tracer leaves for the runtime in a process that it attached to. */
struct runtime_attach {
	int32_t arena;      /* descriptor of the arena, to be closed */
	uint32_t pid;       /* of the process, as the recorder counts */
	uint32_t count;     /* of threads; the first one announces the process */
	uint64_t base;      /* where the runtime's image is mapped, */
	uint64_t size;      /* and its size */
	uint64_t all;       /* size of the mapping that holds this structure */
	uint32_t result;    /* by the runtime: enum runtime_attach_result */
	uint32_t announced; /* futex, by the runtime: the process is announced */
	uint32_t reserved;
	struct runtime_attach_thread threads[];
};

enum runtime_attach_result {
	RUNTIME_ATTACH_FAILED = 0,
	RUNTIME_ATTACH_DONE = 1,
	RUNTIME_ATTACH_NO_ARENA = 2, /* the arena cannot be mapped */
	RUNTIME_ATTACH_NO_CACHE = 3, /* there is no memory for code */
	RUNTIME_ATTACH_NO_SLOT = 4,  /* more threads than the recording has room for */
};

#endif
