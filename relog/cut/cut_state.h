/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of a cut. */
#ifndef RELOG_CUT_CUT_STATE_H
#define RELOG_CUT_CUT_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include <ptl/relogger.h>
#include <ptl/state.h>

#include "common/bytes.h"
#include "common/hash_map.h"
#include "relog/cut/blobs.h"
#include "relog/cut/cut.h"
#include "relog/cut/late.h"
#include "relog/cut/select.h"
#include "relog/cut/switch.h"

struct relog_cut {
	const struct relog_cut_settings *settings;
	struct ptl_relogger *relogger;
	struct relog_selection selection;
	bool by_time;
	uint64_t from, to;            /* in the clock of the output, both inclusive */
	uint64_t start, stop;         /* stop: latest time of all processes */
	struct common_hash_map stops; /* pid: end of the PT of the process behind `to`; PTL_NO_ID: of the PT of CPUs */
	struct ptl_state *state;
	/* PT of CPUs is kept, so all context switches are kept: switches tell the thread of the PT */
	bool of_cpus;
	/* PT of CPUs has compressed returns: decoding needs the code of all processes */
	bool everyone;
	struct relog_switches switches; /* last switches before start */
	bool reported;                  /* start rundown has been written, or is not needed */
	bool ended;                     /* end rundown has been written, or is not needed */
	struct common_hash_map others;  /* dropped processes with a kept start event */
	struct relog_kept_blobs blobs;
	struct relog_kept_blobs fileless; /* --drop-code: code without a file (vdso), which is kept */
	struct ptl_stream_range kept;     /* kept range of the current stream; a plan points here */
	struct ptl_bytes storage;         /* scratch memory of the current event */
	struct ptl_bytes reported_storage;
	uint64_t dropped_events, dropped_bytes;
	bool any; /* the window has events */
	/* PT of the chosen threads, in the clock of the output. Not of an input that is being written. */
	uint64_t pt_first, pt_last;
	bool pt_outside; /* some of this PT lies outside the window */
	bool pt_inside;
	bool truth_dropped;
	bool live; /* the input is being written */
	struct relog_late late;
};

#endif
