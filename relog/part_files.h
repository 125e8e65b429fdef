/* SPDX-License-Identifier: BSD-2-Clause */
/* Several outputs of one run: parts of the inputs, by time. Either all parts appear or none. */
#ifndef RELOG_PART_FILES_H
#define RELOG_PART_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/relogger.h>

#include "relog/settings/settings.h"

/* Zero-initialise, and set `settings`. Call relog_part_files_free in any case. */
struct relog_part_files {
	const struct relog_settings *settings;
	struct relog_settings *part;          /* settings of the current part; owned */
	struct ptl_provenance_input *origins; /* origins of the inputs, which every part records; owned */
	size_t origin_count;
	bool again;   /* messages about the inputs were printed */
	char **names; /* temporary names of the written parts; owned */
	size_t count;
};

/*
 * Opens the inputs, and calls look in the relogger's begin callback: the shifts of times are known then. Hashes the inputs,
 * for the provenance of each part. Returns the errors of look and of relog_inputs_add.
 */
int relog_part_files_look(struct relog_part_files *files, int (*look)(void *context, struct ptl_relogger *relogger),
			  void *context);
/* Adds the name of the next part. Returns PTL_NO_MEMORY. */
int relog_part_files_next(struct relog_part_files *files);
/*
 * Writes the span of time as the last part, in place of an earlier attempt. *size: bytes of the file. Returns the errors of
 * relog_run.
 */
int relog_part_files_write(struct relog_part_files *files, const struct common_time_span *span, bool *damaged,
			   uint64_t *size);
/* Gives all parts their names. Returns PTL_SYSTEM if a name exists without --force. */
int relog_part_files_commit(struct relog_part_files *files);
/* Removes the files that have no name yet. */
void relog_part_files_free(struct relog_part_files *files);

/*
 * Returns the name of a part in new memory: out.3.ptl for out.ptl, or, if temporary, .out.3.ptl.tmp-PID in the same
 * folder. NULL: no memory.
 */
char *relog_part_name(const char *path, size_t number, bool temporary);

#endif
