/* SPDX-License-Identifier: BSD-2-Clause */
/* The paths of calls of one trace, or of two that are compared, as exports ask for them. */
#ifndef DUMP_EXPORT_PATH_SESSION_H
#define DUMP_EXPORT_PATH_SESSION_H

#include "dump/call/call_path.h"
#include "dump/export/export.h"

/* What exports of paths have in common. */
struct dump_path_options {
	enum dump_path_group group;
	bool by_time;
	uint64_t depth; /* 0: a default */
};

/* Two rows of a table of options: --by and --depth; a third: --per. A member `paths` is a struct dump_path_options. */
extern const char *const dump_path_values[];
extern const char *const dump_path_groups[];
#define DUMP_PATH_OPTIONS(structure)                                                                                   \
	{"by", 'b', "WHAT", "What is added up (default: instructions, which are exact).",                              \
	 COMMON_CHOICE(structure, paths.by_time, dump_path_values)},                                                   \
		{"per", 0, "WHAT", "What begins a path of its own (default: program).",                                \
		 COMMON_CHOICE(structure, paths.group, dump_path_groups)},                                             \
	{                                                                                                              \
		"depth", 'd', "N", "Calls up to N deep; deeper ones are part of their callers (default: 512).",        \
			COMMON_NUMBER(structure, paths.depth, 1, UINT32_MAX)                                           \
	}

/* One trace. Zero-initialise, and close in any case. */
struct dump_path_session {
	struct dump_session session; /* a copy; of a second trace with its own path, trace and options */
	struct dump_options options; /* of a second trace */
	bool opened;                 /* it is a second trace */
	bool damaged;                /* once closed: a second trace is */
	struct dump_call_session calls;
	struct dump_paths paths;
};

/*
 * Adds up the session's trace; or, where `second` is not NULL, the trace of that name, with the same options, which has to be
 * opened before the first one is looked at. What dump_call_session_run returns.
 */
int dump_path_session_open(struct dump_path_session *run, const struct dump_session *session, const char *second);
/* What the run begins with, for a caller who observes calls for more than paths; the run is dump_call_session_run. */
int dump_path_session_start(struct dump_path_session *run, const struct dump_path_options *options);
int dump_path_session_run(struct dump_path_session *run, const struct dump_path_options *options);
void dump_path_session_close(struct dump_path_session *run);

/* Adds what lies in gaps or beyond limits. */
void dump_path_session_left_out(const struct dump_path_session *run, struct dump_left_out *left_out);

#endif
