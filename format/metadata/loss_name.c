/* SPDX-License-Identifier: BSD-2-Clause */
/* Words for losses. */
#include <ptl/trace.h>

#include "format/metadata/metadata.h"

const char *format_loss_name(uint32_t kind)
{
	static const char *const names[] = {
		[PTL_LOSS_BUFFERS] = "buffers",
		[PTL_LOSS_BYTES] = "PT bytes",
		[PTL_LOSS_EVENTS] = "events",
		[PTL_LOSS_THREAD] = "thread not traced",
		[PTL_LOSS_PROCESS] = "process not followed",
		[PTL_LOSS_CODE] = "code",
		[PTL_LOSS_SYMBOLS] = "symbols",
		[PTL_LOSS_END] = "recording ended early",
		[PTL_LOSS_CUT] = "cut away",
		[PTL_LOSS_LEFT_OUT] = "left out",
	};

	return kind < sizeof(names) / sizeof(names[0]) && names[kind] ? names[kind] : "unknown";
}
