/* SPDX-License-Identifier: BSD-2-Clause */
/* The state that the model's files share. */
#ifndef RECORD_MODEL_MODEL_STATE_H
#define RECORD_MODEL_MODEL_STATE_H

#include "common/bytes.h"
#include "common/hash_map.h"
#include "record/model/model.h"

struct record_thread {
	uint32_t tid;
	char name[RECORD_THREAD_NAME_MAX + 1];
	bool leaving;                  /* has announced an exec that will not be followed */
	char *leaving_for;             /* cause and path of that; owned */
	struct ptl_bytes leaving_with; /* the program's strings */
};

struct record_process {
	uint32_t number;
	uint32_t pid;
	uint32_t parent_pid;
	uint32_t stream_pair;
	uint64_t start_time;
	uint64_t last_time; /* of any message */
	bool found;         /* ran before it was recorded: it has rundown for a start */
	bool started;       /* its start event was written */
	bool gone;
	bool ended; /* its end event was written: kept for children that have not been seen yet */
	bool has_exit_status;
	uint32_t exit_status;
	uint32_t first_tid;
	uint64_t gone_at; /* model's now */
	char *path;       /* of the program; never NULL */
	char *command_line;
	char *word; /* that the program was started by, the first of its command line without folders */
	struct record_thread *threads;
	size_t thread_count;
	size_t thread_capacity;
	struct record_log log;
	size_t log_pruned; /* its count after it was last pruned */
	/*
	 * Two moments, and the epochs that had begun by then: forks of before the older one have
	 * been seen.
	 */
	uint64_t epoch_at[2];
	uint64_t epoch[2];
	uint64_t latest_epoch;
};

struct record_stream_pair {
	bool busy;
	uint64_t time[RECORD_PARTS];
};

struct record_model {
	struct record_sink sink;
	struct common_hash_map by_number; /* struct record_process * */
	struct common_hash_map by_pid;    /* the latest process's number */
	struct record_stream_pair *stream_pairs;
	size_t stream_pair_count;
	size_t stream_pair_capacity;
	struct ptl_bytes storage; /* of the event being made */
	struct record_model_counts counts;
	uint64_t last_time;
	uint64_t now;
};

/* NULL: none. */
struct record_process *record_find_process(const struct record_model *model, uint32_t number);

/* ---- model_event.c: events of one process ---------------------------------------------------- */

/* Each writes one event at `time`, which for RECORD_LIFE is moved up to the stream's last. */
int record_emit_process(struct record_model *model, struct record_process *process, uint8_t opcode, uint64_t time);
int record_emit_thread(struct record_model *model, struct record_process *process, uint8_t opcode, uint32_t tid,
		       const char *name, uint64_t start_address, uint64_t time);
int record_emit_change(struct record_model *model, struct record_process *process, uint32_t tid,
		       const struct record_change *change, uint64_t time);
/* Says that an image of a log was there at the start, or is at the end. */
int record_emit_image_rundown(struct record_model *model, struct record_process *process, uint8_t opcode,
			      const struct record_image *image, uint64_t time);
/* Chooses the stream_pair of a process that starts. */
int record_take_stream_pair(struct record_model *model, struct record_process *process);

/* ---- model_memory.c: images and code --------------------------------------------------------- */

/* Notes a change in the process's log and reports it, as a rundown if the fact is one. */
int record_memory_change(struct record_model *model, struct record_process *process, const struct record_fact *fact,
			 const struct record_change *change);
int record_memory_fact(struct record_model *model, struct record_process *process, const struct record_fact *fact);
/* Gives a forked process what its parent had. */
int record_memory_inherit(struct record_model *model, struct record_process *child, const struct record_process *parent,
			  uint64_t parent_epoch);

/* ---- model_exec.c: programs ------------------------------------------------------------------ */

/* Reports that the process runs this program from now on; before its start was reported, the start. */
int record_exec(struct record_model *model, struct record_process *process, const struct record_program *program,
		uint64_t start_address, uint64_t time);
/* Reports the start of the process, if that has not been done. */
int record_start(struct record_model *model, struct record_process *process, uint64_t start_address);

#endif
