/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs of a scheduler, and what they print. */
#ifndef DUMP_CLUSTER_ASK_H
#define DUMP_CLUSTER_ASK_H

#include "common/bytes.h"

/*
 * Runs a program (argv, NULL-ended) and replaces output by what it prints, on standard error too, with a zero behind it. Its exit
 * status, 128 where it has none; or a negative ptl_status: PTL_NOT_FOUND where there is no such program, PTL_SYSTEM.
 */
int dump_cluster_ask(const char *const *argv, struct ptl_bytes *output);

#endif
