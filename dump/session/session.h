/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared steps of commands: building the timeline, checking the selection, making options of views. */
#ifndef DUMP_SESSION_SESSION_H
#define DUMP_SESSION_SESSION_H

#include "dump/session/command.h"
#include "flow/symbol/symbol.h"
#include "flow/timeline/timeline.h"
#include "flow/view/view.h"

/*
 * Builds the timeline; free it with flow_timeline_free. Warns of events that could not be decoded. Adds the processes
 * of --process to the set of --pid. Returns PTL_MISUSE if a selected process, thread, CPU or image is not in the trace
 * (a hint lists the existing ones), or the status of flow_timeline_build.
 */
int dump_session_timeline(const struct dump_session *session, struct flow_timeline **timeline);
/* Checks the options like dump_session_timeline, for a command without a timeline. */
int dump_session_check(const struct dump_session *session);
/* Checks that each pattern of --image matches an image; else PTL_MISUSE. */
int dump_session_check_images(const struct dump_session *session, const struct flow_timeline *timeline);

/*
 * Returns the options of a view: selection, engine, threads and progress from the session's options. Call
 * dump_session_timeline first: it resolves --process.
 */
struct flow_view_options dump_session_view_options(const struct dump_session *session);

/*
 * Allocates *wanted, a flag for each image of the timeline: whether --image selects the image. The caller frees
 * *wanted. Sets *wanted to NULL if all images are selected. Fails with PTL_NO_MEMORY.
 */
int dump_session_images(const struct dump_session *session, const struct flow_timeline *timeline, bool **wanted);

/* Prints a note that the output is empty. any: the trace has such data, but outside --time or outside the selection. */
void dump_session_note_nothing(const struct dump_session *session, const char *what, bool any);
/* As dump_session_note_nothing, for flow. */
void dump_session_note_no_flow(const struct dump_session *session);
/* Prints a hint where to find missing code or names, unless --code-store or PTL_CODE_STORE is given. */
void dump_session_hint_code(const struct dump_session *session);
/* Warns of unreadable symbol tables. symbols may be NULL. */
void dump_session_warn_symbols(const struct dump_session *session, const struct flow_symbols *symbols);

/* Warns if the recorder lost events: counts are then too small. */
void dump_session_say_lost(const struct dump_session *session);

/*
 * Writes a time of the trace's clock as nanoseconds since the trace's start, as all JSON output does; null for time 0.
 */
void dump_json_time(struct dump_session *session, const char *key, uint64_t time);

#endif
