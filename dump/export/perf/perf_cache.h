/* SPDX-License-Identifier: BSD-2-Clause */
/* The code of a trace as ELF files in a build-id cache, where perf looks for it. */
#ifndef DUMP_EXPORT_PERF_PERF_CACHE_H
#define DUMP_EXPORT_PERF_PERF_CACHE_H

#include <ptl/kernel.h>
#include <ptl/reader.h>
#include <ptl/symbols.h>

#include "common/hash_map.h"
#include "dump/export/perf/perf_file.h"
#include "flow/timeline/query.h"

/* Bytes of a file that some process had mapped. */
struct dump_perf_segment {
	uint64_t offset;  /* in the file */
	uint64_t address; /* in its own address space */
	uint64_t size;
	uint8_t code[PTL_HASH_SIZE];
};

struct dump_perf_object {
	uint8_t build_id[DUMP_PERF_BUILD_ID];
	struct dump_perf_segment *segments; /* owned */
	size_t count;
	uint64_t shift;                         /* added to offsets, so that the headers have room before the first */
	const struct ptl_symbol_table *symbols; /* NULL: none */
};

/* Zero-initialised is empty. */
struct dump_perf_cache {
	struct dump_perf_object *objects;
	size_t count;
	struct common_byte_map by_build_id;
};

/* What perf is to take for the build id of an image: its own, or one made of its code. */
void dump_perf_build_id(const struct ptl_image_event *image, uint8_t build_id[DUMP_PERF_BUILD_ID]);
/* An image whose code has a hash, and its names, which outlive the cache; NULL: none. PTL_NO_MEMORY. */
int dump_perf_cache_add(struct dump_perf_cache *cache, const struct ptl_image_event *image,
			const struct ptl_symbol_table *symbols);
/* After all were added: the file that has the build id; NULL: none. */
const struct dump_perf_object *dump_perf_cache_find(const struct dump_perf_cache *cache,
						    const uint8_t build_id[DUMP_PERF_BUILD_ID]);
/*
 * Writes all files below folder/.build-id. Code that neither the trace nor this machine has is left out and counted. PTL_SYSTEM,
 * PTL_NO_MEMORY.
 */
int dump_perf_cache_write(const struct dump_perf_cache *cache, struct ptl_trace *trace,
			  const struct flow_timeline *timeline, const char *folder, uint64_t *missing);
void dump_perf_cache_free(struct dump_perf_cache *cache);

#endif
