/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Facts about processes: what a source has seen happen, whatever way it saw it. Each source turns its own observations
 * into facts; the model (record/model/model.h) turns facts into events.
 */
#ifndef RECORD_MODEL_FACT_H
#define RECORD_MODEL_FACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/kernel.h>

/* The longest name of a thread, as the kernel has it. */
#define RECORD_THREAD_NAME_MAX 15u

enum record_fact_kind {
	RECORD_FACT_ALIVE,         /* the process did something that is no other fact: it had not ended by then */
	RECORD_FACT_PROCESS_START, /* the process's first; of one that has not forked, RECORD_FACT_EXEC comes next */
	RECORD_FACT_EXEC,          /* runs another program: its images and its other threads are gone */
	RECORD_FACT_EXIT,          /* is about to end, by exit_group or a signal */
	RECORD_FACT_CHILD_STATUS,  /* it has waited for a child */
	RECORD_FACT_THREAD_START,  /* of a thread other than the first: tid */
	RECORD_FACT_THREAD_END,    /* tid */
	RECORD_FACT_THREAD_NAME,   /* a thread, even one that was not known, has this name from now on */
	RECORD_FACT_IMAGE_MAP,     /* executable memory; replaces what was there, of which no unmapping is reported */
	RECORD_FACT_IMAGE_UNMAP,   /* a range is no longer executable */
	RECORD_FACT_IMAGE_PROTECT, /* a range has another protection, and is still executable */
	RECORD_FACT_CODE,          /* bytes as they are executed from this epoch on */
	RECORD_FACT_LEAVE,         /* the thread is about to execute a program that will not be followed */
	RECORD_FACT_STAY,          /* that failed */
};

/* A program's strings: path, script, working directory, arguments, each with a zero behind it, cut anywhere. */
struct record_program {
	const void *strings;
	size_t size;
};

/* What a process is known to run. */
struct record_program_name {
	const char *path;
	const char *word; /* that it was started by, without folders; "": not known */
};

/*
 * One fact. Facts of one process come in the order in which they happened; what they point at need only last until
 * they have been taken.
 *
 * `epoch` counts the versions of an address space: changes of executable mappings and of code bytes. A fact that makes
 * such a change has the epoch that it begins. The child of a fork begins with its parent's mappings as at
 * parent_epoch, and goes on counting from there.
 */
struct record_fact {
	enum record_fact_kind kind;
	bool rundown;     /* of a start or a mapping: it was there before it was first looked at */
	uint32_t process; /* number of the process in this recording, never used again */
	uint32_t pid;
	uint32_t tid;
	uint64_t time; /* of the trace's clock */
	uint64_t epoch;
	union {
		struct {
			bool forked;             /* it has its parent's program and mappings */
			uint32_t parent_pid;     /* 0: unknown */
			uint32_t parent_process; /* its number; 0: not recorded */
			uint64_t parent_epoch;
		} start;
		struct {
			struct record_program program;
			uint64_t start_address; /* 0: unknown */
		} exec;
		struct {
			uint32_t pid;         /* of the child; not used by RECORD_FACT_EXIT */
			uint32_t wait_status; /* as waitpid has it */
		} exit;                       /* RECORD_FACT_EXIT, RECORD_FACT_CHILD_STATUS */
		uint32_t parent_tid;          /* RECORD_FACT_THREAD_START; 0: unknown */
		char name[RECORD_THREAD_NAME_MAX + 1];
		const struct ptl_image_event *image; /* RECORD_FACT_IMAGE_MAP */
		struct {
			uint64_t base;
			uint64_t size;
			uint32_t protection; /* RECORD_FACT_IMAGE_PROTECT */
			const uint8_t *code; /* RECORD_FACT_CODE: size bytes */
		} range;
		struct {
			struct record_program program;
			const char *cause;
		} leave;
	};
};

#endif
