/* SPDX-License-Identifier: BSD-2-Clause */
/* Declarations shared by the text and JSON outputs of ptl-dump info. */
#ifndef DUMP_COMMAND_INFO_H
#define DUMP_COMMAND_INFO_H

#include "dump/run/command.h"

struct dump_trace_sizes {
	uint64_t file;
	uint64_t raw;    /* bytes of payloads before compression */
	uint64_t stored; /* bytes of payloads after compression */
	uint64_t blobs;  /* raw bytes of code, symbols, and other blobs */
};

/* Return a name, never NULL; unknown values get a name too. room: buffer for the name of an unknown kind. */
const char *dump_kind_name(uint32_t kind, char room[16]);
const char *dump_clock_name(uint32_t clock);
const char *dump_timing_name(uint32_t timing);

struct dump_info_options {
	struct dump_options shared;
	bool check;
};

int dump_info_json(struct dump_run *run, const struct dump_trace_sizes *sizes, size_t broken_blobs);

/*
 * Reads each buffer, blob and event, which completes the trace's list of damage. *broken_blobs: number of incomplete
 * blobs. Returns 0, PTL_NO_MEMORY or PTL_SYSTEM.
 */
int dump_info_check(struct dump_run *run, size_t *broken_blobs);

#endif
