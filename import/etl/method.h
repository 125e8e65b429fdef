/* SPDX-License-Identifier: BSD-2-Clause */
/* Methods that the runtime of .NET has compiled: names for code that no image has. */
#ifndef IMPORT_ETL_METHOD_H
#define IMPORT_ETL_METHOD_H

#include "common/bytes.h"
#include "import/etl/file/record.h"

struct etl_import;

/* Zero-initialised is empty. */
struct etl_methods {
	struct etl_method *list;
	size_t count, capacity;
	struct etl_process_start *starts;
	size_t start_count, start_capacity;
	struct ptl_bytes names; /* UTF-8, each with a zero */
};

void etl_methods_free(struct etl_methods *methods);

/* Whether an event of the id may be one that names a method. */
bool etl_is_method(uint16_t id);
/* An event of the runtime, or of its rundown, with the name of a method. What passes the bounds is forgotten. PTL_NO_MEMORY. */
int etl_methods_add(struct etl_methods *methods, const struct etl_record *record);
/* The start of a process. PTL_NO_MEMORY. */
int etl_methods_process(struct etl_methods *methods, const struct etl_record *record);

/*
 * Writes an image for each stretch of compiled code, with the methods as symbols. A method that shares addresses with a later method
 * is an image by itself, loaded at the method's time. Call this before any event is written. Returns the writer's status, or PTL_NO_MEMORY.
 */
int etl_methods_write(struct etl_import *import);

#endif
