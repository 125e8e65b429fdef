/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of calls in few bytes: most have small numbers, and begin soon after the one before. */
#ifndef DUMP_CALL_CALL_PACK_H
#define DUMP_CALL_CALL_PACK_H

#include "dump/call/call_record.h"

/* Bytes that a record may take, and that may be written or read behind it. */
#define DUMP_PACKED_MAX ((size_t)128)

/* Packs a record of this index; returns what is behind it. A call has ended; its shape is not kept. */
uint8_t *dump_record_pack(uint8_t *at, const struct dump_packed_before *before, const struct dump_call_record *record,
			  size_t index);
const uint8_t *dump_record_unpack(const uint8_t *at, const struct dump_packed_before *before, size_t index,
				  struct dump_call_record *record);

static inline struct dump_packed_before dump_packed_after(const struct dump_call_record *record)
{
	return (struct dump_packed_before){.start = record->start, .depth = record->depth, .stack = record->stack};
}

#endif
