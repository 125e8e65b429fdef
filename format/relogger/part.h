/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of a recording that the inputs contain. */
#ifndef FORMAT_RELOGGER_PART_H
#define FORMAT_RELOGGER_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/relogger.h>

/*
 * The part of a recording that an input contains; see PTL_LOSS_CUT in ptl/trace.h. Times are those of the output, before
 * format_relogger_find_parts those of the input.
 */
struct format_part {
	uint8_t recording[16];
	uint64_t first, last, known;
	uint64_t events, bytes; /* dropped events and bytes of the recording */
	/* record that states the part; NULL: none, so the part is the whole recording */
	const struct ptl_record *record;
	/* rundown at the start or end is redundant, as another input covers the border */
	bool start_again, end_again;
};

/* Parts in an input. */
struct format_parts {
	uint8_t identity[16]; /* identity of the source of the streams; all zero: unknown */
	bool has_identity;    /* the caller set the identity; otherwise it is the file's GUID */
	struct format_part *all;
	size_t count;
};

/* What an input contains, and what of that a preceding input contains as well. */
struct format_extent {
	bool joined;                          /* some stream is joined with a stream of another input */
	uint64_t first_event, last_event;     /* times of the event buffers */
	uint64_t events, bytes;               /* totals: events without rundown of cuts; bytes of PT and TRUTH */
	uint64_t shared_events, shared_bytes; /* events and bytes also present in a preceding input */
};

/*
 * Finds the recordings of the inputs, and the streams to be joined. Call after format_relogger_find_machines.
 */
int format_relogger_find_parts(struct ptl_relogger *relogger);
/* Finds the identity of an input, and, for a trace that is being written at the end, its parts. */
void format_relogger_find_identity(struct ptl_relogger_input *input);
int format_relogger_find_own_parts(struct ptl_relogger_input *input);
/* For a trace that is being written: finds the origin of one stream, by default or from its record. */
void format_relogger_find_origin(struct ptl_relogger_input *input, size_t stream);
void format_relogger_take_origin(struct ptl_relogger_input *input, const struct ptl_record *record);
bool format_part_is_same_recording(const struct format_part *a, const struct format_part *b);
/* Checks whether two inputs have parts of exactly the same recordings. */
bool format_parts_are_same_recordings(const struct format_parts *a, const struct format_parts *b);

#endif
