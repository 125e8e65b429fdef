/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packs records of calls into few bytes. Most numbers are small, and most records begin soon after the record before.
 */
#ifndef ANALYSIS_CALL_CALL_PACK_H
#define ANALYSIS_CALL_CALL_PACK_H

#include "analysis/call/call_record.h"

/* Maximum size of a packed record in bytes, including bytes that packing and unpacking may touch after the record. */
#define ANALYSIS_PACKED_MAX ((size_t)128)

/*
 * Packs the record with this index. Returns the address after the packed record. A call must have ended; its shape is
 * not kept.
 */
uint8_t *analysis_record_pack(uint8_t *at, const struct analysis_packed_before *before,
			      const struct analysis_call_record *record, size_t index);
const uint8_t *analysis_record_unpack(const uint8_t *at, const struct analysis_packed_before *before, size_t index,
				      struct analysis_call_record *record);

static inline struct analysis_packed_before analysis_packed_after(const struct analysis_call_record *record)
{
	return (struct analysis_packed_before){.start = record->start, .depth = record->depth, .stack = record->stack};
}

#endif
