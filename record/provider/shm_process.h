/* SPDX-License-Identifier: BSD-2-Clause */
/* A program's `process` file: its providers, who turned them on, and their schemas. */
#ifndef RECORD_PROVIDER_SHM_PROCESS_H
#define RECORD_PROVIDER_SHM_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "provider/session_layout.h"
#include "provider/session_rules.h"

/* A provider as it was when its entry was first seen. */
struct record_shm_provider {
	struct ptl_guid guid;
	struct ptl_guid group; /* all zero: none */
	char name[PROVIDER_SHM_PROVIDER_NAME_SIZE];
	uint32_t flags;
	bool refused; /* it claims to be the kernel: nothing of it is taken */
};

struct record_shm_process {
	int file;         /* -1: not open */
	struct stat info; /* of the file */
	uint8_t *map;     /* header and entries; what is read from it is copied first */
	bool writable;
	bool broken; /* the file was cut short: nothing more is looked at */
	/* What does not change. */
	uint32_t pid;
	uint64_t id;
	uint64_t start;
	uint64_t pid_namespace;
	uint32_t parent;
	char program[256];
	struct record_shm_provider *providers; /* PROVIDER_SHM_PROVIDERS_MAX */
	uint32_t provider_count;
	uint64_t heap_taken; /* offset up to which chunks were taken in */
};

/*
 * Opens and maps a file named so; to write into what recorders may write, or to read alone.
 * PTL_NOT_FOUND (it is not there any more), PTL_CORRUPT, PTL_UNSUPPORTED, PTL_SYSTEM, PTL_NO_MEMORY.
 */
int record_shm_process_open(int folder, const char *name, bool writable, struct record_shm_process *process);
void record_shm_process_close(struct record_shm_process *process);

/* Takes notice of entries that are new; their number is then provider_count. */
void record_shm_process_look(struct record_shm_process *process);

/* What can be asked of entry n, below provider_count, now. false: the file was cut short. */
struct record_shm_entry {
	uint32_t state;
	uint32_t flags;
	struct ptl_enabled enabled;
};
bool record_shm_process_entry(struct record_shm_process *process, uint32_t n, struct record_shm_entry *entry);

/*
 * Turns slot of entry n on, or off where `on` is false, for the session; true if that changed
 * anything. Off clears the bit of any session that has the slot, if `any_session`.
 */
struct record_shm_turn {
	unsigned slot;
	uint64_t session;
	bool on;
	bool any_session;
	uint8_t level;
	uint64_t keywords;
};
bool record_shm_process_turn(struct record_shm_process *process, uint32_t n, const struct record_shm_turn *turn);

/* Asks entry n for a capture of state, and says whether it is still at it. */
void record_shm_process_capture(struct record_shm_process *process, uint32_t n, unsigned slot);
/* Wakes the program's thread that looks what has changed. */
void record_shm_process_notify(struct record_shm_process *process);

/*
 * Calls take with each metadata record (docs/format.md, section 5) of chunks that were added since
 * the last time, and the number of the entry it belongs to. PTL_CORRUPT: the heap is invalid,
 * and no more of it is looked at; PTL_NO_MEMORY; or what take returned.
 */
int record_shm_process_chunks(struct record_shm_process *process,
			      int (*take)(void *context, uint32_t provider, uint64_t type, const uint8_t *body,
					  size_t size),
			      void *context);

#endif
