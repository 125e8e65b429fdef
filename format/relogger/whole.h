/* SPDX-License-Identifier: BSD-2-Clause */
/* Inputs whose streams are copied in the order of the file. */
#ifndef FORMAT_RELOGGER_WHOLE_H
#define FORMAT_RELOGGER_WHOLE_H

#include <stdbool.h>
#include <stdint.h>

#include <ptl/relogger.h>

struct format_whole {
	bool whole; /* no callback needs the streams, and their content is unchanged */
	/* hash in progress while the input is copied; NULL: not hashed during copying */
	struct format_input_hash *hash;
	uint64_t hashed; /* bytes hashed */
};

/* Sets `whole` of each input; called before hashing starts. PTL_NO_MEMORY. */
int format_relogger_find_whole(struct ptl_relogger *relogger);
/* Copies all streams of an input with `whole`, including events, in the order of the file. */
int format_relogger_copy_whole(struct ptl_relogger *relogger, struct ptl_relogger_input *input);
/* Hashes the bytes that were not copied, of an input hashed during copying, and stores the hash in the input's origin. */
int format_relogger_finish_whole(struct ptl_relogger_input *input);

#endif
