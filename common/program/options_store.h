/* SPDX-License-Identifier: BSD-2-Clause */
/* Stores an option's argument as its row says. Internal to the option parser. */
#ifndef COMMON_PROGRAM_OPTIONS_STORE_H
#define COMMON_PROGRAM_OPTIONS_STORE_H

#include "common/program/options.h"

/*
 * Stores the argument. If the option has choices, the argument must be a choice. A failure text says what was expected,
 * without the option's name.
 */
int common_options_store(const struct common_option *option, void *target, const char *argument);

#endif
