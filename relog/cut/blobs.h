/* SPDX-License-Identifier: BSD-2-Clause */
/* Which blobs a cut keeps: those that something kept refers to. */
#ifndef RELOG_CUT_BLOBS_H
#define RELOG_CUT_BLOBS_H

#include <stdbool.h>
#include <stdint.h>

#include <ptl/relogger.h>

#include "relog/cut/select.h"

/* Zero-initialised has no inputs. */
struct relog_kept_blobs {
	/* Of each input, one bit a blob: there can be very many, and more hashes that name none. */
	struct relog_blob_bits {
		uint8_t *bits;
		size_t size; /* bytes */
	} * inputs;
	struct ptl_relogger *relogger;
	bool live;                       /* blobs may come behind what refers to them: */
	struct common_byte_map expected; /* hashes */
	struct common_memory_budget memory_budget;
};

/* For the inputs that the relogger has. PTL_NO_MEMORY; the caller frees in any case, before the relogger. */
int relog_kept_blobs_begin(struct relog_kept_blobs *blobs, struct ptl_relogger *relogger);
void relog_kept_blobs_free(struct relog_kept_blobs *blobs);

/* A hash that names no blob changes nothing. PTL_NO_MEMORY. */
int relog_kept_blobs_note(struct relog_kept_blobs *blobs, const uint8_t hash[PTL_HASH_SIZE]);
/* What an event refers to. */
int relog_kept_blobs_note_event(struct relog_kept_blobs *blobs, const struct relog_subject *subject);
bool relog_kept_blobs_has(const struct relog_kept_blobs *blobs, const struct ptl_relogger_input *input,
			  const uint8_t hash[PTL_HASH_SIZE]);

#endif
