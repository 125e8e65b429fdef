/* SPDX-License-Identifier: BSD-2-Clause */
/* An input of the relogger. */
#ifndef FORMAT_RELOGGER_INPUT_H
#define FORMAT_RELOGGER_INPUT_H

#include <stddef.h>

#include <ptl/relogger.h>

#include "format/relogger/ids.h"
#include "format/relogger/machine.h"
#include "format/relogger/part.h"
#include "format/relogger/provenance.h"
#include "format/relogger/whole.h"

/*
 * Share of the memory limit for the decompressed buffers of an input: 1/8. All inputs together take at most the share
 * of two.
 */
#define FORMAT_INPUT_SHARE 8

struct ptl_relogger_input {
	struct ptl_relogger *relogger;
	size_t number;
	char *name;
	void *context;
	int fd; /* descriptor of the same file, for its raw bytes */
	struct ptl_trace *trace;
	size_t losses;
	struct format_relogger_stream *streams; /* by number of the stream in the trace */
	struct format_live *live;               /* state of an input that is being written; else NULL */
	struct format_input_machines machines;
	struct format_input_clock clock;
	struct format_id_change ids;
	struct format_whole whole;
	struct format_origins origins;
	struct format_parts parts;
	struct format_extent extent;
};

void format_relogger_input_free(struct ptl_relogger_input *input);

#endif
