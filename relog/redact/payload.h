/* SPDX-License-Identifier: BSD-2-Clause */
/* Redacts the strings of payloads, as their schemas describe them. */
#ifndef RELOG_REDACT_PAYLOAD_H
#define RELOG_REDACT_PAYLOAD_H

#include <ptl/event.h>
#include <ptl/trace.h>

#include "relog/redact/text.h"

/* Learns from the strings of an event. PTL_NO_MEMORY. */
int relog_redact_learn_event(struct relog_redactor *redactor, const struct ptl_schema *schema,
			     const struct ptl_event *event);
/*
 * Writes what becomes of the event's payload to out. Strings that the schema describes are exchanged; bytes that it
 * does not describe, or of which there is no schema (NULL), are overwritten. hash, if not NULL, may exchange the 32
 * bytes of the hash of a blob; it returns false for one that is to be taken out. PTL_NO_MEMORY.
 */
int relog_redact_payload(struct relog_redactor *redactor, const struct ptl_schema *schema,
			 const struct ptl_event *event, bool (*hash)(void *context, uint8_t hash[PTL_HASH_SIZE]),
			 void *context, struct ptl_bytes *out);

#endif
