/* SPDX-License-Identifier: BSD-2-Clause */
/* What can be recorded from: the table of sources, and which of them work here. */
#ifndef RECORD_SOURCE_H
#define RECORD_SOURCE_H

#include <stdbool.h>
#include <stdio.h>

#include "record/session/settings.h"

struct record_source {
	const char *name;
	const char *summary;
	bool only_by_name; /* "auto" does not take it */
	/*
	 * 0 if it works on this machine; else a ptl_status, with why it does not as the error chain
	 * and what the user can do about it in hint (empty: nothing).
	 */
	int (*check)(const struct record_settings *settings, char *hint, size_t hint_size);
	/*
	 * Records settings->command and returns the exit status of the program; has said on stderr
	 * what went wrong. NULL in a source that only explains itself.
	 */
	int (*record)(const struct record_source *source, const struct record_settings *settings);
};

/* Best first; ends with a NULL name. */
extern const struct record_source record_sources[];

/*
 * The source called settings->source, or for "auto" the first that works; NULL, and says on stderr
 * why: none does.
 */
const struct record_source *record_source_choose(const struct record_settings *settings);

/* One line a source: whether it works, and if not why, and what to do about it. */
void record_source_list(const struct record_settings *settings, FILE *file);

/* record/qemu/session.c */
int record_qemu_session(const struct record_source *source, const struct record_settings *settings);
/* record/native/session.c */
int record_native_session(const struct record_source *source, const struct record_settings *settings);

#endif
