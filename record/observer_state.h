/* SPDX-License-Identifier: BSD-2-Clause */
/* What the observer's files share. */
#ifndef PTL_RECORD_OBSERVER_STATE_H
#define PTL_RECORD_OBSERVER_STATE_H

#include "common/hash_map.h"
#include "record/observer.h"

/* An executable mapping, as far as it tells one from another. */
struct record_observed_map {
	uint64_t base;
	uint64_t size;
	uint64_t file_offset;
	uint64_t device;
	uint64_t inode;
	uint32_t protection;
};

struct record_observed {
	uint32_t pid;
	uint32_t number;      /* in the model */
	uint64_t start_ticks; /* tells a pid that was used again */
	uint64_t program;     /* as in struct record_proc_stat */
	uint64_t looked;      /* when it was last looked at */
	uint64_t epoch;
	int pidfd; /* -1: none */
	bool ours; /* the command: we wait for it */
	bool found;    /* ran before it was first seen */
	bool attached; /* no descendant of the command: its children are not followed */
	bool threads_told;
	bool maps_told;
	bool ended;
	struct ptl_hash_map threads; /* tid: when last seen */
	struct record_observed_map *maps;
	size_t map_count;
	size_t map_capacity;
	uint64_t maps_looked; /* when they were last looked at */
	uint64_t maps_due;
	uint64_t maps_wait;
};

struct record_observer {
	struct record_capture *capture;
	uint32_t next_number;
	bool follows; /* our own children and theirs */
	struct ptl_hash_map processes; /* pid: struct record_observed * */
	uint32_t *pids;                /* scratch */
	size_t pid_capacity;
	uint64_t looked;
	uint64_t due;
};

/* Fills in the message's pid and process, and hands it over. */
int record_observer_send(struct record_observer *observer, const struct record_observed *process,
			 struct ptl_message *message, const struct ptl_image_event *image);

/* ---- observer_maps.c ------------------------------------------------------------------------- */

/* Tells of executable mappings that have come and gone since the last time. */
int record_observer_look_at_maps(struct record_observer *observer, struct record_observed *process,
				 uint64_t now);
/* A forked child has its parent's. */
int record_observer_inherit(struct record_observed *child, const struct record_observed *parent);

#endif
