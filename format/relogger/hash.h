/* SPDX-License-Identifier: BSD-2-Clause */
/* Hashes of the inputs, for provenance. */
#ifndef FORMAT_RELOGGER_HASH_H
#define FORMAT_RELOGGER_HASH_H

#include <pthread.h>
#include <stdbool.h>

#include <ptl/relogger.h>

struct format_hasher {
	pthread_t thread;
	bool runs; /* the thread runs */
	bool done;
	int status;
	char *error;
};

/*
 * Hashes an input in the calling thread, and stores the hash in input->origins.itself. PTL_NO_MEMORY, PTL_SYSTEM,
 * PTL_CANCELLED.
 */
int format_relogger_hash_input(struct ptl_relogger *relogger, struct ptl_relogger_input *input,
			       enum ptl_hash_kind kind);
/* Starts hashing the inputs in a separate thread. */
void format_relogger_start_hashes(struct ptl_relogger *relogger);
/* Waits for the hashing thread, which ends soon after ptl_relogger_cancel. */
void format_relogger_stop_hashes(struct ptl_relogger *relogger);
/* Sets the origin of every input without origins: its own name, size and hash. */
int format_relogger_finish_hashes(struct ptl_relogger *relogger);

#endif
