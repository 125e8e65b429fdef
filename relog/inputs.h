/* SPDX-License-Identifier: BSD-2-Clause */
/* What ptl-relog reads: trace files, and formats that are made trace files first. */
#ifndef RELOG_INPUTS_H
#define RELOG_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/relogger.h>

#include "relog/settings/settings.h"
#include "import/spool.h"

/* A format that is recognised by how a file begins, and is made a trace. The table of them is in inputs.c. */
struct relog_format {
	const char *name; /* "perf.data" */
	/* start: the file's first bytes, at most 512. */
	bool (*is_it)(const uint8_t *start, size_t size);
	/*
	 * Fills spool->writer with the whole content but the provenance record, and names the origins
	 * (import_spool_origin). fd can be sought, and stays the caller's. Calls common_interrupt_check now and then.
	 */
	int (*convert)(const struct relog_settings *settings, const char *path, int fd, const uint8_t *start,
		       size_t size, struct import_spool *spool);
};

/*
 * Adds all inputs that the settings name to the relogger. *damaged becomes true where one of another format could
 * not be read whole, of which a message tells. Messages name the input. What ptl_relogger_add_file and
 * the converters give.
 */
int relog_inputs_add(const struct relog_settings *settings, struct ptl_relogger *relogger, bool *damaged);
/* PTL_MISUSE if a file that is read for an input (raw PT, memory, rules, ...) is the output; traces are checked later. */
int relog_inputs_check(const struct relog_settings *settings);

#endif
