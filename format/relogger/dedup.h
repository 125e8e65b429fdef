/* SPDX-License-Identifier: BSD-2-Clause */
/* Drops duplicates of events and records that several inputs have. */
#ifndef FORMAT_RELOGGER_DEDUP_H
#define FORMAT_RELOGGER_DEDUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/bytes.h>
#include <ptl/relogger.h>

#include "common/hash_map.h"

/* Common events of inputs at one time, and the range of times with a known set of inputs. */
struct format_dedup {
	bool any;           /* some inputs are joined */
	uint64_t low, high; /* range of times, both inclusive, for `overlap` */
	bool overlap;       /* several inputs have events in this range */
	uint64_t time;      /* time of the counted events */
	struct common_byte_map counts;
	struct format_held *waiting; /* events of this time, waiting for other inputs */
	size_t held;
	struct ptl_bytes key;
	struct common_byte_map records;
};

enum format_dedup_result { FORMAT_DEDUP_PASS, FORMAT_DEDUP_DROP };

/* Decides about an event. Negative: an error. */
int format_dedup_event(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream,
		       const struct ptl_event *event);
/* Passes the waiting events of earlier times. */
int format_dedup_flush(struct ptl_relogger *relogger);
/* Decides about a metadata record; body: as it will be written. */
int format_dedup_record(struct ptl_relogger *relogger, const struct ptl_relogger_input *input, uint64_t type,
			const void *body, size_t size);
void format_dedup_free(struct format_dedup *dedup);

#endif
