/* SPDX-License-Identifier: BSD-2-Clause */
/* Payload fields of events, as text and as JSON. */
#ifndef PTL_DUMP_PRINT_VALUE_H
#define PTL_DUMP_PRINT_VALUE_H

#include <ptl/event.h>

#include "common/bytes.h"
#include "common/json.h"

/*
 * Appends the fields of a payload as " Name=value Name=value", members of structures as "Outer.Inner",
 * arrays as "[1,2]", strings with blanks in quotes; fields called Reserved... are left out. Bytes behind
 * the last field, or all of them where there is no schema (NULL) or the fields do not fit, come as
 * " payload=0102ff". start_time: see dump_text_time.
 */
void dump_text_payload(struct ptl_bytes *text, const struct ptl_schema *schema,
		       const uint8_t *payload, size_t size, uint64_t start_time);

/*
 * Adds the members "fields" (an object with one member for each field; structures flattened to
 * "Outer.Inner") and, for bytes that no field explains, "payload" as hexadecimal text. Times are nanoseconds
 * since start_time; addresses are "0x..." text.
 */
void dump_json_payload(struct ptl_json *json, const struct ptl_schema *schema,
		       const uint8_t *payload, size_t size, uint64_t start_time);

#endif
