/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes execution counts of source lines as a sample profile for LLVM's compilers. */
#ifndef DUMP_EXPORT_PROFILE_AUTOFDO_H
#define DUMP_EXPORT_PROFILE_AUTOFDO_H

#include "dump/export/export.h"
#include "dump/run/calls.h"

/* Writes LLVM's text format. Adds code without debug information to left_out. */
int dump_autofdo(struct dump_run *run, struct analysis_calls *calls, struct dump_left_out *left_out);

#endif
