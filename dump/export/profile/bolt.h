/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes counts of branches as a profile for LLVM's BOLT. */
#ifndef DUMP_EXPORT_PROFILE_BOLT_H
#define DUMP_EXPORT_PROFILE_BOLT_H

#include "dump/export/export.h"
#include "dump/run/calls.h"

/*
 * Writes BOLT's format fdata. folder NULL: for the file that executed most, to the output. Else writes DIR/NAME.fdata for
 * each file, and lists the profiles in the output. Adds branches outside of functions to left_out.
 */
int dump_bolt(struct dump_run *run, struct analysis_calls *calls, const char *folder, struct dump_left_out *left_out);

#endif
