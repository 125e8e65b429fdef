/* SPDX-License-Identifier: BSD-2-Clause */
/* A program's `process` file: providers, sessions that turned providers on, and schemas. */
#ifndef RECORD_PROVIDER_SHM_PROCESS_H
#define RECORD_PROVIDER_SHM_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "provider/session_layout.h"
#include "provider/session_rules.h"

/* A provider; the members are copies from the first check. */
struct record_shm_provider {
	struct ptl_guid guid;
	struct ptl_guid group; /* all zero without a group */
	char name[PROVIDER_SHM_PROVIDER_NAME_SIZE];
	uint32_t flags;
	bool refused; /* claims to be the kernel: all data is refused */
};

struct record_shm_process {
	int file;         /* -1 if closed */
	struct stat info; /* status of the file */
	uint8_t *map;     /* header and entries; read only through copies */
	bool writable;
	bool broken; /* the file was truncated: no further access */
	/* Constant members: */
	uint32_t pid;
	uint64_t id;
	uint64_t start;
	uint64_t pid_namespace;
	uint32_t parent;
	char program[256];
	struct record_shm_provider *providers; /* array of PROVIDER_SHM_PROVIDERS_MAX */
	uint32_t provider_count;
	uint64_t heap_taken; /* offset up to which chunks were read */
};

/*
 * Opens and maps the file. writable: maps the part that recorders may write. Fails with PTL_NOT_FOUND if the file has
 * vanished, PTL_CORRUPT, PTL_UNSUPPORTED, PTL_SYSTEM or PTL_NO_MEMORY.
 */
int record_shm_process_open(int folder, const char *name, bool writable, struct record_shm_process *process);
void record_shm_process_close(struct record_shm_process *process);

/* Reads new entries, and updates provider_count. */
void record_shm_process_look(struct record_shm_process *process);

/*
 * Current state of entry n, which is below provider_count. record_shm_process_entry returns false if the file was
 * truncated.
 */
struct record_shm_entry {
	uint32_t state;
	uint32_t flags;
	struct ptl_enabled enabled;
};
bool record_shm_process_entry(struct record_shm_process *process, uint32_t n, struct record_shm_entry *entry);

/*
 * Turns the session's slot of entry n on or off. Returns true if the entry changed. any_session: off also clears the
 * bit of any other session in the slot.
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

/* Asks entry n for a capture of state. */
void record_shm_process_capture(struct record_shm_process *process, uint32_t n, unsigned slot);
/* Wakes the program's thread that handles changes. */
void record_shm_process_notify(struct record_shm_process *process);

/*
 * Calls take with each metadata record (docs/format.md, section 5) of new chunks, and with the number of the entry.
 * Fails with PTL_CORRUPT if the heap is invalid, and ignores the heap afterwards; with PTL_NO_MEMORY; or as take.
 */
int record_shm_process_chunks(struct record_shm_process *process,
			      int (*take)(void *context, uint32_t provider, uint64_t type, const uint8_t *body,
					  size_t size),
			      void *context);

#endif
