/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs programs of a scheduler and captures their output. */
#ifndef DUMP_RUN_ASK_H
#define DUMP_RUN_ASK_H

#include "common/bytes.h"

/*
 * Runs a program (argv: NULL-terminated). Replaces `output` by the program's standard output and standard error,
 * zero-terminated. Returns the program's exit status, or 128 if a signal ended the program.
 * Errors: PTL_NOT_FOUND if the program does not exist; PTL_SYSTEM.
 */
int dump_cluster_ask(const char *const *argv, struct ptl_bytes *output);

#endif
