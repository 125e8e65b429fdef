/* SPDX-License-Identifier: BSD-2-Clause */
#include "import/perf/loss.h"

int perf_lose(struct ptl_writer *writer, uint32_t kind, uint64_t count, uint64_t time, const char *cause)
{
	const struct ptl_loss loss = {
		.kind = kind,
		.stream = PTL_NO_ID,
		.pid = PTL_NO_ID,
		.tid = PTL_NO_ID,
		.count = count,
		.first_time = time,
		.cause = cause,
	};

	return count ? ptl_writer_loss(writer, &loss) : 0;
}
