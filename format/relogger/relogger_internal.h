/* SPDX-License-Identifier: BSD-2-Clause */
/* A relogger. */
#ifndef FORMAT_RELOGGER_RELOGGER_INTERNAL_H
#define FORMAT_RELOGGER_RELOGGER_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/relogger.h>
#include <ptl/writer.h>

#include "format/relogger/control.h"
#include "format/relogger/dedup.h"
#include "format/relogger/hash.h"
#include "format/relogger/machine.h"
#include "format/relogger/output.h"
#include "format/relogger/provenance.h"
#include "format/relogger/recording.h"
#include "format/relogger/stages.h"

/* The event that passes. */
struct format_current {
	struct ptl_relogger_input *input;      /* NULL: none */
	struct format_relogger_stream *stream; /* NULL: none */
	uint64_t time;
};

struct ptl_relogger {
	struct ptl_relogger_options options;
	struct format_control control;
	struct ptl_relogger_input **inputs;
	size_t input_count;
	struct format_stages stages;
	struct format_output output;
	struct ptl_writer *writer;
	struct format_run_step step;
	struct format_machines machines;
	struct format_recording recording;
	struct format_hasher hasher;
	struct ptl_relogger_counts counts;
	/* While events pass: */
	struct format_current current;
	size_t first_input; /* first of the merged inputs */
	uint64_t calls;
	bool ended; /* no more events are accepted */
	struct format_dedup dedup;
};

#endif
