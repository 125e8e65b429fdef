/* SPDX-License-Identifier: BSD-2-Clause */
/* State of a run: begun, cancelled or stopped; its progress and warnings. */
#ifndef FORMAT_RELOGGER_CONTROL_H
#define FORMAT_RELOGGER_CONTROL_H

#include <stdatomic.h>
#include <stdint.h>

#include <ptl/relogger.h>

enum format_relogger_state { FORMAT_RELOGGER_NEW, FORMAT_RELOGGER_RUNNING, FORMAT_RELOGGER_DONE };

struct format_control {
	enum format_relogger_state state;
	atomic_bool cancelled;
	atomic_bool stopped;  /* treat the data so far as the whole trace that is being written */
	uint64_t done, total; /* progress in bytes */
};

/* Returns PTL_CANCELLED after ptl_relogger_cancel, else 0. */
int format_relogger_check(struct ptl_relogger *relogger);
/* Returns PTL_MISUSE if the run has begun, else 0. */
int format_relogger_check_new(const struct ptl_relogger *relogger);
/* Calls the user's warning function. */
void format_relogger_warn(const struct ptl_relogger *relogger, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Adds bytes to the progress, and calls the user's progress function. */
void format_relogger_progress(struct ptl_relogger *relogger, uint64_t bytes);

#endif
