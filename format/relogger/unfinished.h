/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes an output that readers treat as incomplete. */
#ifndef FORMAT_RELOGGER_UNFINISHED_H
#define FORMAT_RELOGGER_UNFINISHED_H

#include <ptl/relogger.h>

/* Makes ptl_relogger_process write the output without index and trailer. Call before ptl_relogger_process. */
void format_relogger_leave_unfinished(struct ptl_relogger *relogger);

#endif
