/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared steps of commands: building the timeline, checking the selection, making options of views. */
#ifndef DUMP_RUN_RUN_H
#define DUMP_RUN_RUN_H

#include "analysis/coverage/coverage.h"
#include "analysis/input/input.h"
#include "dump/run/command.h"
#include "flow/symbol/symbol.h"
#include "flow/timeline/timeline.h"
#include "flow/view/view.h"

/*
 * Builds the timeline; free it with flow_timeline_free. Warns of events that could not be decoded. Adds the processes
 * of --process to the set of --pid. Returns PTL_MISUSE if a selected process, thread, CPU or image is not in the trace
 * (the text lists existing processes, threads or CPUs), or the status of flow_timeline_build.
 */
int dump_run_timeline(const struct dump_run *run, struct flow_timeline **timeline);
/* Checks the options like dump_run_timeline, for a command without a timeline. */
int dump_run_check(const struct dump_run *run);

/*
 * Returns the options of a view: selection, engine, threads and progress from the run's options. Call
 * dump_run_timeline first: it resolves --process.
 */
struct flow_view_options dump_run_view_options(const struct dump_run *run);
/* Returns how text shows names of functions. */
enum flow_names dump_run_names(const struct dump_run *run);
/* Returns the input of analyses, with these options. Call dump_run_timeline first. */
struct analysis_input dump_run_input(const struct dump_run *run);

/* Adds the selected flow to the coverage. Returns the status of dump_run_timeline or analysis_coverage_add. */
int dump_run_cover(const struct dump_run *run, struct analysis_coverage *coverage);

/* As analysis_input_images, analysis_note_nothing and analysis_note_no_flow, with dump_run_input. */
int dump_run_images(const struct dump_run *run, const struct flow_timeline *timeline, bool **wanted);
void dump_run_note_nothing(const struct dump_run *run, const char *what, bool any);
void dump_run_note_no_flow(const struct dump_run *run);
/* Prints a hint where to find missing code or names, unless --code-store or PTL_CODE_STORE is given. */
void dump_run_hint_code(const struct dump_run *run);
/* Warns of unreadable symbol tables. symbols may be NULL. */
void dump_run_warn_symbols(const struct dump_run *run, const struct flow_symbols *symbols);

/*
 * Writes a time of the trace's clock as nanoseconds since the trace's start, as all JSON output does; null for time 0.
 */
void dump_json_time(struct dump_run *run, const char *key, uint64_t time);

#endif
