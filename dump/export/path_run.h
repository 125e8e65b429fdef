/* SPDX-License-Identifier: BSD-2-Clause */
/* Paths of calls for exports, from one trace or from two traces that are compared. */
#ifndef DUMP_EXPORT_PATH_RUN_H
#define DUMP_EXPORT_PATH_RUN_H

#include "analysis/call/call_path.h"
#include "analysis/sample/sample.h"
#include "dump/export/export.h"
#include "dump/run/calls.h"

/* The quantity that is summed up. */
enum dump_path_value { DUMP_PATH_INSTRUCTIONS, DUMP_PATH_TIME, DUMP_PATH_SAMPLES, DUMP_PATH_PERIOD };

/* Shared options of exports of paths. */
struct dump_path_options {
	enum analysis_path_group group;
	enum dump_path_value by;
	bool by_given;
	uint64_t depth; /* 0: a default */
	struct analysis_sample_options samples;
};

/*
 * Rows for a table of options: --by, --per, --depth and --samples. The structure must have a member `paths` of type
 * struct dump_path_options.
 */
extern const char *const dump_path_values[];
extern const char *const dump_path_groups[];
#define DUMP_PATH_OPTIONS(structure)                                                                                   \
	{"by",                                                                                                         \
	 'b',                                                                                                          \
	 "WHAT",                                                                                                       \
	 "What is added up (default: instructions, which are exact; of samples their periods).",                       \
	 COMMON_CHOICE(structure, paths.by, dump_path_values),                                                         \
	 COMMON_GIVEN(structure, paths.by_given)},                                                                     \
		ANALYSIS_SAMPLE_OPTIONS(structure, paths.samples),                                                     \
		{"per", 0, "WHAT", "What begins a path of its own (default: program).",                                \
		 COMMON_CHOICE(structure, paths.group, dump_path_groups)},                                             \
	{                                                                                                              \
		"depth", 'd', "N", "Calls up to N deep; deeper ones are part of their callers (default: 512).",        \
			COMMON_NUMBER(structure, paths.depth, 1, UINT32_MAX)                                           \
	}

/* The paths of one trace. Zero-initialise; call dump_path_run_close in any case. */
struct dump_path_run {
	/* copy of the command's run; for a second trace with its own path, trace and options */
	struct dump_run run;
	struct dump_options options; /* for a second trace */
	bool opened;                 /* this is a second trace */
	bool damaged;                /* after close: the second trace is damaged */
	struct analysis_calls calls;
	struct analysis_paths paths;
	struct analysis_samples samples; /* if requested */
};

/* Returns PTL_MISUSE if the quantity does not match the other options. */
int dump_path_options_check(const struct dump_path_options *options);

/*
 * dump_path_run_open opens the run's trace or, if `second` is not NULL, the trace with this path, with the same
 * options. Open the second trace before the first is run. dump_path_run_decode sums up the paths. Returns the status
 * of analysis_calls_observe.
 */
int dump_path_run_open(struct dump_path_run *path_run, const struct dump_run *run, const char *second);
/* First half of dump_path_run_decode, for callers with an observer of their own: call analysis_calls_observe next. */
int dump_path_run_start(struct dump_path_run *path_run, const struct dump_path_options *options);
int dump_path_run_decode(struct dump_path_run *path_run, const struct dump_path_options *options);
void dump_path_run_close(struct dump_path_run *path_run);

/*
 * Decides whether the export shows time (for samples: their periods) instead of counts. Returns PTL_MISUSE if --by
 * period was given and a trace has no samples of one counter.
 */
int dump_path_run_by_time(const struct dump_path_run *runs, size_t count, const struct dump_path_options *options,
			  bool *by_time);

/* Adds gaps and calls beyond limits. */
void dump_path_run_left_out(const struct dump_path_run *path_run, struct dump_left_out *left_out);

#endif
