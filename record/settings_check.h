/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks combinations of options, and completes settings that depend on other settings. */
#ifndef RECORD_SETTINGS_CHECK_H
#define RECORD_SETTINGS_CHECK_H

#include <stdbool.h>

#include "record/capture/settings.h"

/* Returns 0 or an exit status. Errors have been printed to stderr. */
int record_settings_check(struct record_settings *settings);

/* Checks whether options ask for running programs. */
bool record_settings_name_running(const struct record_settings *settings);

/* Prints an error and a hint. Returns COMMON_EXIT_USAGE. */
int record_usage(const char *text, const char *hint);

#endif
