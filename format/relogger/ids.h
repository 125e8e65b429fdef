/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes of the ids in events. */
#ifndef FORMAT_RELOGGER_IDS_H
#define FORMAT_RELOGGER_IDS_H

#include <stdbool.h>

#include <ptl/bytes.h>
#include <ptl/relogger.h>

struct format_id_change {
	bool changed;                    /* events are changed even without callbacks */
	const struct ptl_schema *schema; /* schema of the last event whose ids were changed */
	struct ptl_bytes payload;        /* payload of the last changed event */
};

#endif
