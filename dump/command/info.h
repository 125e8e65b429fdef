/* SPDX-License-Identifier: BSD-2-Clause */
/* The two outputs of ptl-dump info: words that both use, and the JSON object. */
#ifndef DUMP_COMMAND_INFO_H
#define DUMP_COMMAND_INFO_H

#include "dump/session/command.h"

struct dump_trace_sizes {
	uint64_t file;
	uint64_t raw;    /* payloads before compression */
	uint64_t stored; /* payloads after it */
	uint64_t blobs;  /* raw bytes of code, symbols, ... */
};

struct dump_trace_sizes dump_trace_sizes(const struct ptl_trace *trace);

/* Never NULL; what is unknown has a name that says so. room holds the name of an unknown kind. */
const char *dump_kind_name(uint32_t kind, char room[16]);
const char *dump_clock_name(uint32_t clock);
const char *dump_timing_name(uint32_t timing);

struct dump_info_options {
	struct dump_options shared;
	bool check;
};

int dump_info_json(struct dump_session *session, size_t broken_blobs);

/*
 * Reads every buffer, blob and event; what is damaged is on the trace's list then, and broken_blobs says
 * how many blobs are not whole. PTL_NO_MEMORY, PTL_SYSTEM.
 */
int dump_info_check(struct dump_session *session, size_t *broken_blobs);

#endif
