/* SPDX-License-Identifier: BSD-2-Clause */
/* Buffers that are held in memory, ahead of the one whose events are taken and behind it, for the stacks in them. */
#ifndef IMPORT_ETL_HELD_H
#define IMPORT_ETL_HELD_H

#include "import/etl/file/file.h"

struct etl_import;

/* A ring, oldest first. Zero-initialised is empty. */
struct etl_held {
	struct etl_held_buffer *ring;
	size_t first, count;
	size_t read;  /* of them, whose events have been taken */
	size_t ahead; /* bytes that have not been taken */
	size_t behind;
	size_t reach; /* bytes ahead that are held */
	bool ended;   /* the file has no more */
};

void etl_held_free(struct etl_held *held);
/* The next buffer, as etl_file_next gives it; the stacks of those around it are known. */
int etl_held_next(struct etl_import *import, struct etl_buffer *buffer);

#endif
