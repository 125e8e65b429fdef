/* SPDX-License-Identifier: BSD-2-Clause */
/* What a source is: something that can be recorded from. record/source.c has the table of them. */
#ifndef RECORD_SESSION_SOURCE_H
#define RECORD_SESSION_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "record/capture/settings.h"

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

#endif
