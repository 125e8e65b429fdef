/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams of the inputs, and their streams in the output. */
#ifndef FORMAT_RELOGGER_STREAM_H
#define FORMAT_RELOGGER_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/relogger.h>

#include "format/metadata/metadata.h"

/* A stream of an input, and its stream in the output. */
struct format_relogger_stream {
	struct format_origin origin;
	/*
	 * Streams of several inputs with the same origin form one stream of the output. The first of them is the
	 * leader.
	 */
	struct format_relogger_stream *leader; /* NULL: the stream leads itself */
	struct format_relogger_stream *member; /* next stream with the same leader; NULL: none */
	struct ptl_relogger_input *input;
	size_t number;      /* number in the input */
	uint32_t id;        /* id in the output */
	uint64_t last_time; /* time of the last written event */
	uint64_t cut;       /* position in the input's stream at which the output's stream starts */
	/* stream record, delayed until it is known that the stream is kept; or NULL */
	const struct ptl_record *declared;
	/* For a trace that is being written: */
	uint32_t source; /* id in the input */
	bool decided;    /* declared in the output, or dropped */
	bool dropped;
	size_t copied; /* number of buffers copied */
};

/* Writes the record of a stream after the decision to keep the stream. */
int format_relogger_declare_stream(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream);
/* Assigns a stream its id in the output. */
int format_relogger_number_stream(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream);
/* Returns the number of the stream that a stream record describes; the number of streams if the trace has none. */
size_t format_relogger_stream_of(const struct ptl_relogger_input *input, const struct ptl_record *record);
/* Writes a stream record, or keeps the record until format_relogger_declare_stream. */
int format_relogger_pass_stream_record(struct ptl_relogger *relogger, struct ptl_relogger_input *input,
				       const struct ptl_record *record);

#endif
