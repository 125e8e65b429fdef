/* SPDX-License-Identifier: BSD-2-Clause */
/* What is said of debug information that is not there. */
#ifndef DUMP_PRINT_SOURCE_NOTE_H
#define DUMP_PRINT_SOURCE_NOTE_H

struct flow_sources;

/*
 * Warns where no image has debug information, "no source lines: ..." (what is "source lines"; NULL: that is no reason to warn),
 * and where some of it refers to a file that is not there. sources may be NULL.
 */
void dump_warn_of_sources(struct flow_sources *sources, const char *what);

#endif
