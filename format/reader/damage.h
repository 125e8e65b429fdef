/* SPDX-License-Identifier: BSD-2-Clause */
/* Classifies entries of the damage list, and completes the list by a check. */
#ifndef FORMAT_READER_DAMAGE_H
#define FORMAT_READER_DAMAGE_H

#include <stdbool.h>
#include <stddef.h>

#include <ptl/reader.h>

enum format_damage_kind {
	FORMAT_DAMAGE_LOST,       /* damaged or cut off: the data cannot be recovered */
	FORMAT_DAMAGE_UNREADABLE, /* intact, but encoded in a way that this version cannot read; can be copied */
	/* Kinds that are no damage: */
	FORMAT_DAMAGE_NEWER, /* a part of a kind that only a newer minor version knows; no known data is missing */
	/*
	 * the index is missing, but every present byte could be read: the file is being written, or its writer was
	 * killed
	 */
	FORMAT_DAMAGE_END,
};

enum format_damage_kind format_damage_kind(const struct ptl_trace *trace, const struct ptl_damage *damage);

/* Whether some data of the trace cannot be read by this version. */
static inline bool format_damage_hurts(const struct ptl_trace *trace, const struct ptl_damage *damage)
{
	return format_damage_kind(trace, damage) <= FORMAT_DAMAGE_UNREADABLE;
}

struct format_trace_check {
	/*
	 * Called for each buffer with the number of preceding buffers. A non-zero result ends the check, which returns
	 * the result. May be NULL.
	 */
	int (*progress)(void *context, size_t done);
	void *context;
	size_t broken_blobs; /* result: number of incomplete or damaged blobs */
};

/*
 * Reads every buffer, blob and event. Afterwards the trace's list has all damage. Damage is no failure; returns other
 * failures: PTL_NO_MEMORY, PTL_SYSTEM, or the result of progress().
 */
int format_trace_check(struct ptl_trace *trace, struct format_trace_check *check);

#endif
