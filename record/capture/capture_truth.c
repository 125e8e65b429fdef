/* SPDX-License-Identifier: BSD-2-Clause */
/* What the source says about what really ran: it goes to the truth file, where one is asked for. */
#include "record/capture/capture.h"

#include <ptl/error.h>

#include "record/capture/truth.h"

/* A truth file that cannot be written is reported when it is closed. */
static int check_truth(int status)
{
	return status == PTL_SYSTEM ? 0 : status;
}

int record_capture_truth_block(struct record_capture *capture, uint32_t definitions, uint32_t number,
			       const uint64_t *addresses, size_t count)
{
	if (!capture->truth)
		return 0;
	return check_truth(record_truth_block(capture->truth, definitions, number, addresses, count));
}

int record_capture_truth_inherit(struct record_capture *capture, uint32_t definitions, uint32_t parent)
{
	return check_truth(record_truth_inherit(capture->truth, definitions, parent));
}

int record_capture_truth_thread(struct record_capture *capture, uint32_t definitions, uint32_t pid, uint32_t tid,
				uint32_t *stream)
{
	return check_truth(record_truth_thread(capture->truth, definitions, pid, tid, stream));
}

int record_capture_truth_words(struct record_capture *capture, uint32_t stream, const uint32_t *words, size_t count)
{
	return check_truth(record_truth_words(capture->truth, stream, words, count));
}
