/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of --source-map: paths of source files as line tables name them, and where the files are on this machine. */
#ifndef DUMP_RUN_SOURCE_MAP_H
#define DUMP_RUN_SOURCE_MAP_H

#include <stdbool.h>
#include <stddef.h>

#include "common/bytes.h"

/* For a row of an option table: adds the rule FROM=TO. PTL_MISUSE, PTL_NO_MEMORY. */
int dump_source_map_take(void *unused, const char *rule);
void dump_source_map_free(void);

/* Returns rule i. FROM has *from_size bytes; the function returns TO. NULL: there is no rule i. */
const char *dump_source_map_rule(size_t i, const char **from, size_t *from_size);

/*
 * Writes the path that the first rule with a matching FROM gives, with a final zero, to *mapped. FROM matches whole
 * components of a path. Returns false if no rule matches, or without memory.
 */
bool dump_source_map_apply(const char *path, struct ptl_bytes *mapped);

#endif
