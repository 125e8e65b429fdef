/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files of the model. */
#ifndef RECORD_MODEL_MODEL_STATE_H
#define RECORD_MODEL_MODEL_STATE_H

#include "common/bytes.h"
#include "common/hash_map.h"
#include "record/model/model.h"

struct record_thread {
	uint32_t tid;
	char name[RECORD_THREAD_NAME_MAX + 1];
	bool leaving;                  /* announced an execve that will not be followed */
	char *leaving_for;             /* cause and path of the announced execve; owned */
	struct ptl_bytes leaving_with; /* strings of the program */
};

struct record_process {
	uint32_t number;
	uint32_t pid;
	uint32_t parent_pid;
	uint32_t stream_pair;
	uint64_t start_time;
	uint64_t last_time; /* time of the latest fact */
	bool found;         /* ran before the recording; starts with a rundown */
	bool started;       /* the start event was written */
	bool gone;
	bool ended; /* the end event was written; kept for children without facts so far */
	bool has_exit_status;
	bool announced_exit; /* by the process itself, before the exit */
	uint32_t announced_status;
	uint32_t exit_status;
	uint32_t fatal_signal; /* first reported signal that ends the process; 0: none */
	uint32_t first_tid;
	uint64_t gone_at; /* clock of record_model.now */
	char *path;       /* path of the program; never NULL */
	char *command_line;
	char *word; /* word that started the program: first word of the command line, without folders */
	struct record_thread *threads;
	size_t thread_count;
	size_t thread_capacity;
	struct record_log log;
	size_t log_pruned; /* number of changes after the last pruning */
	/* Two moments with their epochs. All forks before the older moment have been reported. */
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
	struct common_hash_map by_pid;    /* number of the latest process */
	struct record_stream_pair *stream_pairs;
	size_t stream_pair_count;
	size_t stream_pair_capacity;
	struct ptl_bytes storage; /* memory of the current event */
	struct record_model_counts counts;
	uint64_t last_time;
	uint64_t now;
};

/* Returns NULL if unknown. */
struct record_process *record_find_process(const struct record_model *model, uint32_t number);

/* ---- model_event.c: events of one process ---------------------------------------------------- */

/* Writes an event at `time`. Times of RECORD_LIFE are raised to the last time of the stream. */
int record_emit_process(struct record_model *model, struct record_process *process, uint8_t opcode, uint64_t time);
int record_emit_thread(struct record_model *model, struct record_process *process, uint8_t opcode, uint32_t tid,
		       const char *name, uint64_t start_address, uint64_t time);
int record_emit_signal(struct record_model *model, struct record_process *process, const struct record_fact *fact);
int record_emit_change(struct record_model *model, struct record_process *process, uint32_t tid,
		       const struct record_change *change, uint64_t time);
/* Reports that an image existed at the start, or exists at the end. */
int record_emit_image_rundown(struct record_model *model, struct record_process *process, uint8_t opcode,
			      const struct record_image *image, uint64_t time);
/* Selects the pair of streams for a new process. */
int record_take_stream_pair(struct record_model *model, struct record_process *process);

/* ---- model_memory.c: images and code --------------------------------------------------------- */

/* Adds a change to the process's log, and reports the change; as a rundown if the fact is a rundown. */
int record_memory_change(struct record_model *model, struct record_process *process, const struct record_fact *fact,
			 const struct record_change *change);
int record_memory_fact(struct record_model *model, struct record_process *process, const struct record_fact *fact);
/* Copies the memory of the parent to a forked process. */
int record_memory_inherit(struct record_model *model, struct record_process *child, const struct record_process *parent,
			  uint64_t parent_epoch);

/* ---- model_exec.c: programs ------------------------------------------------------------------ */

/* Reports the program of the process from now on. Reports the start of the process first, if necessary. */
int record_exec(struct record_model *model, struct record_process *process, const struct record_program *program,
		uint64_t start_address, uint64_t time);
/* Reports the start of the process, if necessary. */
int record_start(struct record_model *model, struct record_process *process, uint64_t start_address);

#endif
