/* SPDX-License-Identifier: BSD-2-Clause */
/* The model of processes, threads and images: turns ordered facts into events. */
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
 * Events of a process go to a pair of streams. A later process may reuse the pair of an ended process if it started no
 * earlier than the pair's last event. There are therefore about as many pairs as processes at a time, and times never
 * decrease in a stream, even if the clocks of processes differ.
 *
 * The pair has two streams: events about memory need the order and the exact times that PSBs refer to, while other
 * events may be slightly later than a memory change that follows them. At equal times, RECORD_MEMORY comes first.
 */
enum record_part {
	RECORD_MEMORY, /* process start, exec, images, code, and their rundown */
	RECORD_LIFE,   /* thread start and end, process end */
	RECORD_PARTS,
};

/* Destination of events. Functions return 0 or a ptl_status, which the model passes on. */
struct record_sink {
	void *context;
	int (*event)(void *context, uint32_t stream_pair, enum record_part part, const struct ptl_event *event);
	/* Stores bytes, and returns their hash. */
	int (*code)(void *context, const uint8_t *data, size_t size, uint8_t hash[PTL_HASH_SIZE]);
	int (*loss)(void *context, const struct ptl_loss *loss);
};

struct record_model_counts {
	uint64_t processes; /* total number */
	uint64_t threads;
	uint64_t living; /* number of living processes */
	uint64_t images;
	uint64_t not_followed;
};

struct record_model;

/* Copies sink. Fails with PTL_NO_MEMORY. */
int record_model_new(const struct record_sink *sink, struct record_model **model);
void record_model_free(struct record_model *model);

/*
 * Handles the next fact. Rundown facts of starts and loads become events of start rundown. Ignores invalid facts, and
 * facts about unknown processes.
 * now: nanoseconds of any clock, for timeouts.
 * Fails with PTL_NO_MEMORY, or as the sink.
 */
int record_model_fact(struct record_model *model, const struct record_fact *fact, uint64_t now);

/*
 * Notes a dead process, of which no fact follows. status_expected: a wait status may still arrive, and delays the end
 * event.
 */
int record_model_gone(struct record_model *model, uint32_t process, uint64_t now, bool status_expected);

/*
 * Notes the wait status of a process, reported by any process. The number of a process tells more than its pid, which a later
 * process may have.
 */
int record_model_exit_status(struct record_model *model, uint32_t pid, uint32_t status);
int record_model_exit_status_of(struct record_model *model, uint32_t process, uint32_t status);

/* Forgets old processes, and ends processes without a reported exit status. */
int record_model_tick(struct record_model *model, uint64_t now);

/* Sets a lower bound for the times of final events. */
void record_model_reach(struct record_model *model, uint64_t time);

/* Ends the recording: writes the rundown of living processes. */
int record_model_finish(struct record_model *model);

/* Finds the current or last program of the process with this pid. Returns false if unknown. */
bool record_model_program_of(const struct record_model *model, uint32_t pid, struct record_program_name *name);
/* Checks whether a process with this pid is known and alive. */
bool record_model_has(const struct record_model *model, uint32_t pid);

void record_model_counts(const struct record_model *model, struct record_model_counts *counts);

/* Returns the latest time of any event. */
uint64_t record_model_last_time(const struct record_model *model);

/* Returns the path of the process's program; "" if unknown. */
const char *record_model_program(const struct record_model *model, uint32_t process);

#endif
