/* SPDX-License-Identifier: BSD-2-Clause */
/* What can be recorded from: the table of sources, and which of them work here. */
#ifndef RECORD_SOURCE_H
#define RECORD_SOURCE_H

#include <stdio.h>

#include "record/session/source.h"

/* Best first; ends with a NULL name. */
extern const struct record_source record_sources[];

/*
 * The source called settings->source, or for "auto" the first that works; NULL, and says on stderr
 * why: none does.
 */
const struct record_source *record_source_choose(const struct record_settings *settings);

/* One line a source: whether it works, and if not why, and what to do about it. */
void record_source_list(const struct record_settings *settings, FILE *file);

#endif
