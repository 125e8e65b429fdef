/* SPDX-License-Identifier: BSD-2-Clause */
/* State of a run: begun, cancelled or stopped; its progress and warnings. */
#include "format/relogger/control.h"

#include <stdarg.h>
#include <stdio.h>

#include "common/error.h"
#include "format/relogger/relogger_internal.h"

int format_relogger_check_new(const struct ptl_relogger *relogger)
{
	return relogger->control.state == FORMAT_RELOGGER_NEW
		       ? 0
		       : common_fail(PTL_MISUSE, "the relogger has begun to process");
}

int format_relogger_check(struct ptl_relogger *relogger)
{
	return atomic_load_explicit(&relogger->control.cancelled, memory_order_relaxed)
		       ? common_fail(PTL_CANCELLED, "cancelled")
		       : 0;
}

void ptl_relogger_cancel(struct ptl_relogger *relogger)
{
	atomic_store_explicit(&relogger->control.cancelled, true, memory_order_relaxed);
}

void ptl_relogger_stop(struct ptl_relogger *relogger)
{
	atomic_store_explicit(&relogger->control.stopped, true, memory_order_relaxed);
}

void format_relogger_warn(const struct ptl_relogger *relogger, const char *format, ...)
{
	char text[512];
	va_list arguments;

	if (!relogger->options.warning)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	relogger->options.warning(relogger->options.context, text);
}

void format_relogger_progress(struct ptl_relogger *relogger, uint64_t bytes)
{
	relogger->control.done += bytes;
	if (relogger->options.progress)
		relogger->options.progress(relogger->options.context, relogger->control.done, relogger->control.total);
}
