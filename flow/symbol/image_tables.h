/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A table for each image (symbols, or source lines), made when it is first asked for. Images that the same blob or the same file
 * explains share one. Threads may ask at the same time.
 */
#ifndef FLOW_SYMBOL_IMAGE_TABLES_H
#define FLOW_SYMBOL_IMAGE_TABLES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hash_map.h"
#include "flow/symbol/jit_file.h"
#include "flow/timeline/timeline.h"

struct flow_image_tables_kind {
	/* The hash of the blob that the trace has for the image; NULL: none. */
	const uint8_t *(*blob)(const struct ptl_image_event *image);
	/*
	 * reported: the image as the trace says it was mapped, without what is attached. jit: what names code that the process made; or
	 * NULL. NULL: there is no table. One call at a time.
	 */
	void *(*make)(void *context, const struct ptl_image_event *image, const struct ptl_image_event *reported,
		      const struct elf_jit_names *jit);
	void (*free)(void *table);
	uint32_t attachment; /* whose blobs stand for the image's own, by build id: an enum ptl_attachment_kind */
	void (*attach)(struct ptl_image_event *image, const uint8_t *hash);
};

struct flow_image_tables {
	const struct flow_image_tables_kind *kind;
	void *context;
	const struct flow_timeline *timeline;
	size_t image_count;
	_Atomic(void *) *by_image;
	pthread_mutex_t lock; /* of what is below */
	struct flow_jit_files jit;
	bool listed;                        /* by_build_id is made */
	struct common_byte_map by_build_id; /* index of the attachment */
	struct common_byte_map by_key;      /* what explains an image: index in list */
	void **list;                        /* owned; NULL where there is none */
	size_t count;
	size_t asked, found; /* images; of which there are tables */
	size_t failed;       /* without memory */
};

/* kind and context stay. PTL_NO_MEMORY. */
int flow_image_tables_open(struct flow_image_tables *tables, const struct flow_image_tables_kind *kind, void *context,
			   struct ptl_trace *trace, const struct flow_timeline *timeline);
void flow_image_tables_close(struct flow_image_tables *tables);

/* The table of an image, the tables'; NULL: there is none, or no such image. */
void *flow_image_tables_get(struct flow_image_tables *tables, uint32_t image);
/* The same of an image that the timeline need not have. */
void *flow_image_tables_of(struct flow_image_tables *tables, const struct ptl_image_event *image);

#endif
