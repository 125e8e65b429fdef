/* SPDX-License-Identifier: BSD-2-Clause */
/* What commands have in common: the timeline of the trace, a check of what was asked for, options of views. */
#ifndef DUMP_SESSION_SESSION_H
#define DUMP_SESSION_SESSION_H

#include "dump/session/command.h"
#include "flow/symbol/symbol.h"
#include "flow/timeline/timeline.h"
#include "flow/view/view.h"

/*
 * Builds the timeline; free with flow_timeline_free. Warns of events that could not be understood. Adds the processes of
 * --process to those of --pid. PTL_MISUSE where a process, thread or CPU of the options is not in the trace (a hint lists
 * those that are); else what flow_timeline_build returns.
 */
int dump_session_timeline(const struct dump_session *session, struct flow_timeline **timeline);

/*
 * The selection, engine, threads and progress for a view of what the session's options ask for; after
 * dump_session_timeline, which finds the processes.
 */
struct flow_view_options dump_session_view_options(const struct dump_session *session);

/*
 * For each image of the timeline whether --image wants it (caller frees); *wanted is NULL where all are.
 * PTL_MISUSE where none is; PTL_NO_MEMORY.
 */
int dump_session_images(const struct dump_session *session, const struct flow_timeline *timeline, bool **wanted);

/*
 * A note that the output is empty: because the trace has no such thing (`any` is false), or none of it lies in the span
 * of --time, or is of what was asked for.
 */
void dump_session_note_nothing(const struct dump_session *session, const char *what, bool any);
/* The same for flow. */
void dump_session_note_no_flow(const struct dump_session *session);
/* Where code or names may be that are not in the trace, unless the user has said that. */
void dump_session_hint_code(const struct dump_session *session);
/* Warns of symbol tables that could not be read. symbols may be NULL. */
void dump_session_warn_symbols(const struct dump_session *session, const struct flow_symbols *symbols);

/* Warns of events that the recorder lost, if there are any: counts are short of them. */
void dump_session_say_lost(const struct dump_session *session);

/* A time of the trace's clock as nanoseconds since its start, the form of all JSON output; null if 0. */
void dump_json_time(struct dump_session *session, const char *key, uint64_t time);

#endif
