/* SPDX-License-Identifier: BSD-2-Clause */
/* How often source lines ran, as a sample profile that LLVM's compilers take. */
#ifndef DUMP_EXPORT_PROFILE_AUTOFDO_H
#define DUMP_EXPORT_PROFILE_AUTOFDO_H

#include "dump/call/call_session.h"
#include "dump/export/export.h"

/* Writes LLVM's text format. What has no debug information is added to left_out. */
int dump_autofdo(struct dump_call_session *calls, struct dump_left_out *left_out);

#endif
