/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A table of symbols or source lines for each image, made at the first request. Images with the same blob or the same
 * file share a table. Several threads may request tables at once.
 */
#ifndef FLOW_SYMBOL_IMAGE_TABLES_H
#define FLOW_SYMBOL_IMAGE_TABLES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hash_map.h"
#include "flow/timeline/made_names.h"
#include "flow/timeline/timeline.h"

struct flow_image_tables_kind {
	/* Returns the hash of the trace's blob for the image; NULL: no blob. */
	const uint8_t *(*blob)(const struct ptl_image_event *image);
	/*
	 * Makes a table. reported: the image as reported at its mapping, without attachments. made: names of code
	 * that the process made, or NULL. Returns NULL if no table can be made. Never called on two threads at once.
	 */
	void *(*make)(void *context, const struct ptl_image_event *image, const struct ptl_image_event *reported,
		      const struct flow_made_layer *made);
	void (*free)(void *table);
	/* enum ptl_attachment_kind of attachments whose blobs replace the image's blob, by build id */
	uint32_t attachment;
	void (*attach)(struct ptl_image_event *image, const uint8_t *hash);
};

struct flow_image_tables {
	const struct flow_image_tables_kind *kind;
	void *context;
	struct ptl_trace *trace;
	const struct flow_timeline *timeline;
	size_t image_count;
	_Atomic(void *) *by_image;
	pthread_mutex_t lock;               /* protects the following members */
	bool listed;                        /* by_build_id is complete */
	struct common_byte_map by_build_id; /* by build id: index of the attachment */
	struct common_byte_map by_key;      /* by key of a table: index in list */
	void **list;                        /* owned; NULL: no table */
	size_t count;
	size_t requested, found; /* number of requested images, and of images with a table */
	size_t failed;           /* number of failures for lack of memory */
};

/* Initialises the tables. kind and context must outlive the tables. Returns PTL_NO_MEMORY. */
int flow_image_tables_open(struct flow_image_tables *tables, const struct flow_image_tables_kind *kind, void *context,
			   struct ptl_trace *trace, const struct flow_timeline *timeline);
void flow_image_tables_close(struct flow_image_tables *tables);

/* Returns the table of an image, owned by tables; NULL: no table, or no such image. */
void *flow_image_tables_get(struct flow_image_tables *tables, uint32_t image);
/* As flow_image_tables_get, for an image that may be missing in the timeline. */
void *flow_image_tables_of(struct flow_image_tables *tables, const struct ptl_image_event *image);

#endif
