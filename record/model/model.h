/* SPDX-License-Identifier: BSD-2-Clause */
/* The bookkeeping of processes, threads and images: facts go in, in their order; events come out. */
#ifndef RECORD_MODEL_MODEL_H
#define RECORD_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/event.h>
#include <ptl/trace.h>

#include "record/model/fact.h"
#include "record/model/mapping_log.h"

/*
 * Events of a process go to a pair of streams of its own until it has ended; then another process may have the
 * pair if it started no earlier than the pair's last event. So there are about as many pairs as
 * processes run at a time, and times do not go back in any stream of a pair, though processes'
 * clocks may be far apart.
 *
 * There are two streams, since what concerns a process's memory must be recorded in the order and with
 * the exact times that its PSBs relate to, while other events may be a little later than such a
 * change that is reported after them. Of the same time, RECORD_MEMORY comes first.
 */
enum record_part {
	RECORD_MEMORY, /* process start, exec, images, code; rundown of these */
	RECORD_LIFE,   /* thread start and end, process end */
	RECORD_PARTS,
};

/* Where events go. All return 0 or a ptl_status, which the model passes on. */
struct record_sink {
	void *context;
	int (*event)(void *context, uint32_t stream_pair, enum record_part part, const struct ptl_event *event);
	/* Stores bytes and gives their hash. */
	int (*code)(void *context, const uint8_t *data, size_t size, uint8_t hash[PTL_HASH_SIZE]);
	int (*loss)(void *context, const struct ptl_loss *loss);
};

struct record_model_counts {
	uint64_t processes; /* ever */
	uint64_t threads;
	uint64_t living; /* processes */
	uint64_t images;
	uint64_t not_followed;
};

struct record_model;

/* sink is copied. PTL_NO_MEMORY. */
int record_model_new(const struct record_sink *sink, struct record_model **model);
void record_model_free(struct record_model *model);

/*
 * Takes the next fact. A rundown makes events of start and load those of start rundown. Facts that make no sense, or
 * are of no process that is known, are ignored. now: any clock of this machine in nanoseconds, for how long to
 * remember. PTL_NO_MEMORY or what the sink returns.
 */
int record_model_fact(struct record_model *model, const struct record_fact *fact, uint64_t now);

/* Nothing more will come of this process: it is dead. status_expected: somebody may still tell its wait status, for which its end waits. */
int record_model_gone(struct record_model *model, uint32_t process, uint64_t now, bool status_expected);

/* A process has this wait status; any process may have waited for it. */
int record_model_exit_status(struct record_model *model, uint32_t pid, uint32_t status);

/* Forgets what need no longer be known, and ends processes whose exit status nobody reported. */
int record_model_tick(struct record_model *model, uint64_t now);

/* What is reported at the end has this time at least. */
void record_model_reach(struct record_model *model, uint64_t time);

/* The recording ends: rundown of what is alive. */
int record_model_finish(struct record_model *model);

/* What the process with this pid runs, or ran last; false: it is not known. */
bool record_model_program_of(const struct record_model *model, uint32_t pid, struct record_program_name *name);
/* Whether a process with this pid is known, and has not ended. */
bool record_model_has(const struct record_model *model, uint32_t pid);

void record_model_counts(const struct record_model *model, struct record_model_counts *counts);

/* The latest time of any event. */
uint64_t record_model_last_time(const struct record_model *model);

/* Path of the program that a process runs; "" where unknown. */
const char *record_model_program(const struct record_model *model, uint32_t process);

#endif
