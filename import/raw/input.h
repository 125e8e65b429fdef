/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Raw Intel PT and raw code bytes as an input: makes them a trace of one process that existed
 * already.
 */
#ifndef IMPORT_RAW_INPUT_H
#define IMPORT_RAW_INPUT_H

#include "relog/settings.h"
#include "import/spool.h"

/*
 * Writes the whole content of the trace but its provenance record. The memory file and the map are
 * read and checked first.
 *
 * PTL_CORRUPT (the map), PTL_NOT_OURS (PT bytes without a PSB), PTL_SYSTEM, PTL_NO_MEMORY,
 * PTL_CANCELLED.
 */
int import_input_raw(const struct relog_settings *settings, struct import_spool *spool);

#endif
