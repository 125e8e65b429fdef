/* SPDX-License-Identifier: BSD-2-Clause */
/* Redacts strings of payloads by their schemas. */
#ifndef RELOG_REDACT_PAYLOAD_H
#define RELOG_REDACT_PAYLOAD_H

#include <ptl/event.h>
#include <ptl/trace.h>

#include "relog/redact/text.h"

/* Learns words from the strings of an event. Returns PTL_NO_MEMORY. */
int relog_redact_learn_event(struct relog_redactor *redactor, const struct ptl_schema *schema,
			     const struct ptl_event *event);
/*
 * Writes the redacted payload of the event to out. Strings of the schema are replaced. Bytes that the schema does not
 * describe are overwritten in place; without a schema (NULL) all bytes are.
 * hash: optional callback that may replace the 32 bytes of a blob's hash; it returns false to remove the hash.
 * Returns PTL_NO_MEMORY.
 */
int relog_redact_payload(struct relog_redactor *redactor, const struct ptl_schema *schema,
			 const struct ptl_event *event, bool (*hash)(void *context, uint8_t hash[PTL_HASH_SIZE]),
			 void *context, struct ptl_bytes *out);

#endif
