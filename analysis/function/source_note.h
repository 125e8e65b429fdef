/* SPDX-License-Identifier: BSD-2-Clause */
/* Warnings of missing debug information. */
#ifndef ANALYSIS_FUNCTION_SOURCE_NOTE_H
#define ANALYSIS_FUNCTION_SOURCE_NOTE_H

struct flow_sources;

/*
 * Warns if no image has debug information: "no source lines: ..." (what: "source lines"; NULL: no such warning). Warns
 * if debug information refers to a missing file. sources may be NULL.
 */
void analysis_warn_of_sources(struct flow_sources *sources, const char *what);

#endif
