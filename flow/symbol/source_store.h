/* SPDX-License-Identifier: BSD-2-Clause */
/* Stores the source files that line tables name in a trace, each content once. */
#ifndef FLOW_SYMBOL_SOURCE_STORE_H
#define FLOW_SYMBOL_SOURCE_STORE_H

#include "elf/image_store.h"

#define FLOW_SOURCE_FILE_MAX ((uint64_t)16 << 20) /* bytes of a source file */
#define FLOW_SOURCE_MAX ((uint64_t)256 << 20)     /* bytes of all source files of a trace */

struct flow_source_store;

/* Counts of paths. */
struct flow_source_counts {
	uint64_t stored;
	uint64_t missing; /* no regular file, empty, or not readable for the owner of the program */
	uint64_t beyond;  /* beyond the bounds above, or beyond the number of paths */
	uint64_t newer;   /* stored, and modified after `recorded` */
};

/*
 * Copies *sink. recorded: nanoseconds since 1970, to count files that were modified later; 0: not counted. Fails with
 * PTL_NO_MEMORY.
 */
int flow_source_store_new(const struct elf_image_sink *sink, int64_t recorded, struct flow_source_store **store);
void flow_source_store_free(struct flow_source_store *store);

/*
 * Stores the source files of an open ELF file; of a file in memory allocated by malloc, which the function frees. image:
 * path of the mapped file. A file without lines has no source files. store: a struct flow_source_store, as for `sources`
 * of struct elf_image_sink. Fail with PTL_NO_MEMORY, or as the sink.
 */
int flow_source_store_take(void *store, int fd, const char *image);
int flow_source_store_take_memory(struct flow_source_store *store, uint8_t *data, size_t size, const char *image);

/* Notes that the trace has the file of this path, which is not stored again. Fails with PTL_NO_MEMORY. */
int flow_source_store_has(struct flow_source_store *store, const char *path);

/* Starts a new trace, which has no source file yet. The counts stay. */
void flow_source_store_restart(struct flow_source_store *store);

void flow_source_store_counts(const struct flow_source_store *store, struct flow_source_counts *counts);
/* Prints a note, or a warning, about source files that are not in the trace, or are newer than the trace. */
void flow_source_store_report(const struct flow_source_store *store);

#endif
