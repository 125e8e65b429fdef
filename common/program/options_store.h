/* SPDX-License-Identifier: BSD-2-Clause */
/* Stores the argument of an option where its row says. Internal to the option parser. */
#ifndef COMMON_PROGRAM_OPTIONS_STORE_H
#define COMMON_PROGRAM_OPTIONS_STORE_H

#include "common/program/options.h"

/* argument is one of the choices if there are any. A failure says what was expected, without the option's name. */
int common_options_store(const struct common_option *option, void *target, const char *argument);

#endif
