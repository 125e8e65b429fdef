/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Facts about processes, as seen by a source. Each source turns its observations into facts; the model
 * (record/model/model.h) turns facts into events.
 */
#ifndef RECORD_MODEL_FACT_H
#define RECORD_MODEL_FACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/kernel.h>

/* Maximum length of the kernel's thread names. */
#define RECORD_THREAD_NAME_MAX 15u

enum record_fact_kind {
	RECORD_FACT_ALIVE,         /* an action without a separate fact: the process lived at this time */
	RECORD_FACT_PROCESS_START, /* first fact of a process; RECORD_FACT_EXEC follows unless forked */
	RECORD_FACT_EXEC,          /* runs another program: images and other threads are gone */
	RECORD_FACT_EXIT,          /* about to end, by exit_group */
	RECORD_FACT_SIGNAL,        /* about to end, by a signal that tid took */
	RECORD_FACT_CHILD_STATUS,  /* waited for a child */
	RECORD_FACT_THREAD_START,  /* a second or later thread starts: tid */
	RECORD_FACT_THREAD_END,    /* tid */
	RECORD_FACT_THREAD_NAME,   /* new name of a thread, known or not */
	RECORD_FACT_IMAGE_MAP,     /* executable memory; replaces overlapping memory without a report of unmapping */
	RECORD_FACT_IMAGE_UNMAP,   /* a range was unmapped, or its code is no longer observed */
	RECORD_FACT_IMAGE_PROTECT, /* a range has another protection; its images stay, executable or not */
	RECORD_FACT_CODE,          /* bytes of code from this epoch on */
	RECORD_FACT_LEAVE,         /* thread announces execve of a program that will not be followed */
	RECORD_FACT_STAY,          /* the announced execve failed */
};

/* Strings of a program: path, script, working directory, arguments; each zero-terminated, possibly cut. */
struct record_program {
	const void *strings;
	size_t size;
};

/* The known program of a process. */
struct record_program_name {
	const char *path;
	const char *word; /* word that started the program, without folders; "" if unknown */
};

/*
 * A fact. Facts of a process arrive in the order of their occurrence. Pointers are valid until the model has handled
 * the fact.
 *
 * `epoch` counts versions of an address space: changes of executable mappings and of code bytes. A fact with a change
 * has the epoch that the change begins. The child of a fork begins with the mappings of its parent at parent_epoch, and
 * continues counting from there.
 */
struct record_fact {
	enum record_fact_kind kind;
	bool rundown;     /* of a start or mapping: existed before the first look */
	uint32_t process; /* number of the process in this recording, never reused */
	uint32_t pid;
	uint32_t tid;
	uint64_t time; /* of the trace's clock */
	uint64_t epoch;
	union {
		struct {
			bool forked;             /* has the program and mappings of its parent */
			uint32_t parent_pid;     /* 0 if unknown */
			uint32_t parent_process; /* number of the parent; 0 if unrecorded */
			uint64_t parent_epoch;
		} start;
		struct {
			struct record_program program;
			uint64_t start_address; /* 0 if unknown */
		} exec;
		struct {
			uint32_t pid;           /* pid of the child; unused by RECORD_FACT_EXIT */
			uint32_t process;       /* number of the child; 0: pid says which; unused by RECORD_FACT_EXIT */
			uint32_t wait_status;   /* status of waitpid */
		} exit;                         /* RECORD_FACT_EXIT, RECORD_FACT_CHILD_STATUS */
		struct ptl_signal_event signal; /* RECORD_FACT_SIGNAL; without the ids of process and thread */
		uint32_t parent_tid;            /* RECORD_FACT_THREAD_START; 0 if unknown */
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
