/* SPDX-License-Identifier: BSD-2-Clause */
/* Holds buffers in memory before and behind the current buffer, for the stacks of its events. */
#ifndef IMPORT_ETL_HELD_H
#define IMPORT_ETL_HELD_H

#include "import/etl/file/file.h"

struct etl_import;

/* A ring of buffers, oldest first. Zero-initialised: empty. */
struct etl_held {
	struct etl_held_buffer *ring;
	size_t first, count;
	size_t read;  /* buffers whose events were read */
	size_t ahead; /* bytes of buffers that were not read */
	size_t behind;
	size_t reach; /* bytes to hold ahead */
	bool ended;   /* the file has no more buffers */
};

void etl_held_free(struct etl_held *held);
/* Returns the next buffer as etl_file_next does. Stacks of neighbouring buffers are known. */
int etl_held_next(struct etl_import *import, struct etl_buffer *buffer);

#endif
