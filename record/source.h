/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of sources, and the choice of a source. */
#ifndef RECORD_SOURCE_H
#define RECORD_SOURCE_H

#include <stdio.h>

#include "common/program/options.h"
#include "record/capture/settings.h"
#include "record/check/list.h"

/*
 * Records with the source settings->source, or for "auto" with the best working source, and with additional sources.
 * Returns the exit status of ptl-record. Errors have been printed to stderr.
 */
int record_source_run(const struct record_settings *settings);

/* Writes the sources' option tables to `tables`: at most `room` entries, including the final NULL. */
void record_source_options(const struct common_option **tables, size_t room);

/* Checks whether the named source can record without a command. */
bool record_source_needs_no_command(const char *name);

/* Adds an item per source, for ptl-record check. */
void record_source_check(struct check_list *list);

/* Prints a line per source: whether the source works, or the cause and advice. */
void record_source_list(const struct record_settings *settings, FILE *file);

#endif
