/* SPDX-License-Identifier: BSD-2-Clause */
/* The set of blobs that a cut keeps: blobs that a kept event or record refers to. */
#ifndef RELOG_CUT_BLOBS_H
#define RELOG_CUT_BLOBS_H

#include <stdbool.h>
#include <stdint.h>

#include <ptl/relogger.h>

#include "relog/cut/select.h"

/* Zero-initialised: no inputs. */
struct relog_kept_blobs {
	/* For each input, one bit per blob. A trace can have very many blobs, and even more hashes without a blob. */
	struct relog_blob_bits {
		uint8_t *bits;
		size_t size; /* bytes */
	} * inputs;
	struct ptl_relogger *relogger;
	bool live;                       /* blobs may follow the events that refer to the blobs; */
	struct common_byte_map expected; /* hashes of such blobs */
	struct common_memory_budget memory_budget;
};

/*
 * Prepares the set for the inputs of the relogger. Returns PTL_NO_MEMORY. The caller frees the set in any case, before
 * the relogger.
 */
int relog_kept_blobs_begin(struct relog_kept_blobs *blobs, struct ptl_relogger *relogger);
void relog_kept_blobs_free(struct relog_kept_blobs *blobs);

/* Adds the blob with the hash. An unknown hash changes nothing. Returns PTL_NO_MEMORY. */
int relog_kept_blobs_note(struct relog_kept_blobs *blobs, const uint8_t hash[PTL_HASH_SIZE]);
/* Adds all blobs that the event refers to. Returns PTL_NO_MEMORY. */
int relog_kept_blobs_note_event(struct relog_kept_blobs *blobs, const struct relog_subject *subject);
bool relog_kept_blobs_has(const struct relog_kept_blobs *blobs, const struct ptl_relogger_input *input,
			  const uint8_t hash[PTL_HASH_SIZE]);

#endif
