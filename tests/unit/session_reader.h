/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Minimal recorder's side of docs/providers.md, for tests of the program's side. The reader trusts the data, and fails
 * the test on an inconsistency.
 */
#ifndef TESTS_SESSION_READER_H
#define TESTS_SESSION_READER_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "provider/session_layout.h"
#include "provider/session_rules.h"

#define READER_FILES_MAX 256

/* A rings file and its process file. */
struct reader_file {
	char name[256];
	uint32_t pid;
	uint64_t process;
	int fd;
	struct provider_shm_rings *first; /* mapped page */
	struct provider_shm_ring *rings[PROVIDER_SHM_RINGS_MAX];
};

struct reader {
	char folder[128];
	unsigned slot;
	uint64_t id;
	uint64_t ring_size;
	uint32_t burst_rings; /* set before reader_start */
	int lock;             /* the session file, locked */
	struct reader_file files[READER_FILES_MAX];
	size_t count;
	void (*visit)(void *context, const struct reader_file *file, uint32_t ring,
		      const struct provider_shm_record *record, const uint8_t *payload);
	void *context;
	uint64_t broken; /* number of protocol errors */
};

void reader_path(const struct reader *reader, const char *name, char path[512]);
/* Takes the slot. Rules: provider name NULL is all. */
void reader_start(struct reader *reader, const char *folder, unsigned slot, uint64_t id, uint64_t ring_size,
		  uint32_t flags, const char *provider, uint8_t level, uint64_t keywords);
/* Calls turn for the mapped entry of each registered provider of each process. */
unsigned reader_each_provider(const struct reader *reader,
			      void (*turn)(const struct reader *reader, struct provider_shm_process *process,
					   struct provider_shm_provider *provider));
void reader_notify(struct provider_shm_process *process);
void reader_turn_on_one(const struct reader *reader, struct provider_shm_process *process,
			struct provider_shm_provider *provider);
void reader_open_files(struct reader *reader);
/* Reads everything. Returns the number of events. */
uint64_t reader_drain(struct reader *reader);
/* Returns the number of events dropped for lack of room. */
uint64_t reader_lost(const struct reader *reader);
/* Ends properly or, with dead, like a killed recorder. */
void reader_stop(struct reader *reader, bool dead);
/* Makes a folder for the test in *path, and sets the environment variable of libptl-provider. */
void reader_folder(char path[64]);
void reader_remove_folder(const char *path);

#endif
