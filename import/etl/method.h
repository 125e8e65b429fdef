/* SPDX-License-Identifier: BSD-2-Clause */
/* Methods that the .NET runtime has compiled: names of code outside images. */
#ifndef IMPORT_ETL_METHOD_H
#define IMPORT_ETL_METHOD_H

#include "common/bytes.h"
#include "import/etl/file/record.h"

struct etl_import;

/* Zero-initialised: empty. */
struct etl_methods {
	struct etl_method *list;
	size_t count, capacity;
	struct etl_process_start *starts;
	size_t start_count, start_capacity;
	struct ptl_bytes names; /* UTF-8, each zero-terminated */
};

void etl_methods_free(struct etl_methods *methods);

/* Whether an event with the id may name a method. */
bool etl_is_method(uint16_t id);
/*
 * Adds an event of the runtime, or of its rundown, that names a method. Drops methods beyond the memory limits. Returns
 * PTL_NO_MEMORY.
 */
int etl_methods_add(struct etl_methods *methods, const struct etl_record *record);
/* Adds the start of a process. Returns PTL_NO_MEMORY. */
int etl_methods_process(struct etl_methods *methods, const struct etl_record *record);

/*
 * Writes an image for each stretch of compiled code, with the methods as symbols. A method that shares addresses with a
 * later method becomes a separate image, loaded at the method's time. Call before any event is written. Returns the
 * status of the writer; PTL_NO_MEMORY.
 */
int etl_methods_write(struct etl_import *import);

#endif
