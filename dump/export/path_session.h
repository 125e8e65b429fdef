/* SPDX-License-Identifier: BSD-2-Clause */
/* The paths of calls of one trace, or of two that are compared, as exports ask for them. */
#ifndef DUMP_EXPORT_PATH_SESSION_H
#define DUMP_EXPORT_PATH_SESSION_H

#include "dump/call/call_path.h"
#include "dump/export/export.h"
#include "dump/sample/sample.h"

/* What is added up. */
enum dump_path_value { DUMP_PATH_INSTRUCTIONS, DUMP_PATH_TIME, DUMP_PATH_SAMPLES, DUMP_PATH_PERIOD };

/* What exports of paths have in common. */
struct dump_path_options {
	enum dump_path_group group;
	enum dump_path_value by;
	bool by_given;
	uint64_t depth; /* 0: a default */
	struct dump_sample_options samples;
};

/* Rows of a table of options: --by, --per, --depth and --samples. A member `paths` is a struct dump_path_options. */
extern const char *const dump_path_values[];
extern const char *const dump_path_groups[];
#define DUMP_PATH_OPTIONS(structure)                                                                                   \
	{"by",                                                                                                         \
	 'b',                                                                                                          \
	 "WHAT",                                                                                                       \
	 "What is added up (default: instructions, which are exact; of samples their periods).",                       \
	 COMMON_CHOICE(structure, paths.by, dump_path_values),                                                         \
	 COMMON_GIVEN(structure, paths.by_given)},                                                                     \
		DUMP_SAMPLE_OPTIONS(structure, paths.samples),                                                         \
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
	struct dump_samples samples; /* where these were asked for */
};

/* PTL_MISUSE where what is to be added up is not what was asked for otherwise. */
int dump_path_options_check(const struct dump_path_options *options);

/*
 * Adds up the session's trace; or, where `second` is not NULL, the trace of that name, with the same options, which has to be
 * opened before the first one is looked at. What dump_call_session_run returns.
 */
int dump_path_session_open(struct dump_path_session *run, const struct dump_session *session, const char *second);
/* What the run begins with, for a caller who observes calls for more than paths; the run is dump_call_session_run. */
int dump_path_session_start(struct dump_path_session *run, const struct dump_path_options *options);
int dump_path_session_run(struct dump_path_session *run, const struct dump_path_options *options);
void dump_path_session_close(struct dump_path_session *run);

/* Whether an export of these runs is by time: periods of samples. PTL_MISUSE where one that was asked for has none. */
int dump_path_session_by_time(const struct dump_path_session *runs, size_t count,
			      const struct dump_path_options *options, bool *by_time);

/* Adds what lies in gaps or beyond limits. */
void dump_path_session_left_out(const struct dump_path_session *run, struct dump_left_out *left_out);

#endif
