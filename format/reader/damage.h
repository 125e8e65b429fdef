/* SPDX-License-Identifier: BSD-2-Clause */
/* What an entry of the damage list means, and a check that makes the list complete. */
#ifndef FORMAT_READER_DAMAGE_H
#define FORMAT_READER_DAMAGE_H

#include <stdbool.h>
#include <stddef.h>

#include <ptl/reader.h>

enum format_damage_kind {
	FORMAT_DAMAGE_LOST,       /* damaged or cut off: what was there cannot be had any more */
	FORMAT_DAMAGE_UNREADABLE, /* whole, but made in a way that this version cannot read; it can be copied */
	/* No damage: */
	FORMAT_DAMAGE_NEWER, /* a part of a kind that only a newer minor version knows; nothing known here is missing */
	FORMAT_DAMAGE_END,   /* the index is missing, though every byte that is there could be read: the file is being
			      * written, or its writer was killed */
};

enum format_damage_kind format_damage_kind(const struct ptl_trace *trace, const struct ptl_damage *damage);

/* Whether something of the trace cannot be read by this version. */
static inline bool format_damage_hurts(const struct ptl_trace *trace, const struct ptl_damage *damage)
{
	return format_damage_kind(trace, damage) <= FORMAT_DAMAGE_UNREADABLE;
}

struct format_trace_check {
	/* Called for each buffer with the number of those before; non-zero ends the check, which returns it. May be NULL. */
	int (*progress)(void *context, size_t done);
	void *context;
	size_t broken_blobs; /* result: blobs that are not whole */
};

/*
 * Reads every buffer, blob and event; all that is damaged is on the trace's list then. Only other failures are returned:
 * PTL_NO_MEMORY, PTL_SYSTEM, what progress returned.
 */
int format_trace_check(struct ptl_trace *trace, struct format_trace_check *check);

#endif
