/* SPDX-License-Identifier: BSD-2-Clause */
/* What can be recorded from: the table of sources, and which of them work here. */
#ifndef RECORD_SOURCE_H
#define RECORD_SOURCE_H

#include <stdio.h>

#include "common/program/options.h"
#include "record/capture/settings.h"
#include "record/check/list.h"

/*
 * Records with the source called settings->source, or for "auto" the best that works here, and with what else the
 * settings ask for. Returns ptl-record's exit status, and has said on stderr what went wrong.
 */
int record_source_run(const struct record_settings *settings);

/* Puts the tables of the sources' own options into `tables`, at most `room` with the NULL that ends them. */
void record_source_options(const struct common_option **tables, size_t room);

/* Whether the source of this name can record without a command. */
bool record_source_needs_no_command(const char *name);

/* Adds an item for each source, as ptl-record check shows them. */
void record_source_check(struct check_list *list);

/* One line a source: whether it works, and if not why, and what to do about it. */
void record_source_list(const struct record_settings *settings, FILE *file);

#endif
