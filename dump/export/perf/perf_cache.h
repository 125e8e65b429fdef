/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the code of a trace as ELF files in a build-id cache, where perf looks for code. */
#ifndef DUMP_EXPORT_PERF_PERF_CACHE_H
#define DUMP_EXPORT_PERF_PERF_CACHE_H

#include <ptl/kernel.h>
#include <ptl/reader.h>
#include <ptl/symbols.h>

#include "common/hash_map.h"
#include "dump/export/perf/perf_file.h"
#include "flow/timeline/query.h"

/* A part of a file that a process had mapped. */
struct dump_perf_segment {
	uint64_t offset;  /* offset in the file */
	uint64_t address; /* address in the file's own address space */
	uint64_t size;
	uint8_t code[PTL_HASH_SIZE];
};

struct dump_perf_object {
	uint8_t build_id[DUMP_PERF_BUILD_ID];
	struct dump_perf_segment *segments; /* owned */
	size_t count;
	/* added to offsets, to make room for headers before the first segment */
	uint64_t shift;
	const struct ptl_symbol_table *symbols; /* NULL: none */
};

/* Zero-initialised: empty. */
struct dump_perf_cache {
	struct dump_perf_object *objects;
	size_t count;
	struct common_byte_map by_build_id;
};

/* Returns the build id for perf: the image's own, or one derived from its code. */
void dump_perf_build_id(const struct ptl_image_event *image, uint8_t build_id[DUMP_PERF_BUILD_ID]);
/*
 * Adds an image with a code hash, and its symbols, which must outlive the cache; NULL: none. Returns 0 or
 * PTL_NO_MEMORY.
 */
int dump_perf_cache_add(struct dump_perf_cache *cache, const struct ptl_image_event *image,
			const struct ptl_symbol_table *symbols);
/* Returns the file with the build id, after all images were added; NULL: none. */
const struct dump_perf_object *dump_perf_cache_find(const struct dump_perf_cache *cache,
						    const uint8_t build_id[DUMP_PERF_BUILD_ID]);
/* Sources of code. */
struct dump_perf_code {
	struct ptl_trace *trace;
	const struct flow_outside_blob *outside; /* code of files that the trace does not contain */
	size_t outside_count;
};

/*
 * Reads code into new memory, which the caller frees: from the trace, a code store, or the mapped file. Returns false if
 * no source has the code.
 */
bool dump_perf_code_read(const struct dump_perf_code *source, const uint8_t hash[PTL_HASH_SIZE], uint8_t **data,
			 size_t *size);
/*
 * Writes all files below folder/.build-id. *missing: number of segments whose code neither the trace nor this machine
 * has. Returns 0, PTL_SYSTEM or PTL_NO_MEMORY.
 */
int dump_perf_cache_write(const struct dump_perf_cache *cache, const struct dump_perf_code *source, const char *folder,
			  uint64_t *missing);
void dump_perf_cache_free(struct dump_perf_cache *cache);

#endif
