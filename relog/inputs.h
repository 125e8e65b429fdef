/* SPDX-License-Identifier: BSD-2-Clause */
/* The inputs of ptl-relog: trace files, and foreign formats that are converted to traces. */
#ifndef RELOG_INPUTS_H
#define RELOG_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/relogger.h>

#include "relog/settings/settings.h"
#include "import/spool.h"

/* A foreign format. The first bytes of a file identify the format. The table of formats is in inputs.c. */
struct relog_format {
	const char *name; /* "perf.data" */
	/* start: first bytes of the file, at most 512. */
	bool (*recognises)(const uint8_t *start, size_t size);
	/*
	 * Writes all content except the provenance record to spool->writer, and names the origins
	 * (import_spool_origin). fd is seekable, and stays the caller's. Must call common_interrupt_check now and then.
	 */
	int (*convert)(const struct relog_settings *settings, const char *path, int fd, const uint8_t *start,
		       size_t size, struct import_spool *spool);
};

/*
 * Adds all inputs of the settings to the relogger, and relates their clocks. *damaged becomes true if a foreign input could not be read
 * completely; a message has told so. Messages name the input. Returns the errors of ptl_relogger_add_file and of the
 * converters.
 */
int relog_inputs_add(const struct relog_settings *settings, struct ptl_relogger *relogger, bool *damaged);
/*
 * Returns PTL_MISUSE if the output is also a file that is read for an input (raw PT, memory, rules, ...). Traces are
 * checked later.
 */
int relog_inputs_check(const struct relog_settings *settings);

#endif
