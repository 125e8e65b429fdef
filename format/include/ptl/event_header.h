/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * EventHeader: the events written by Microsoft's LinuxTracepoints libraries through user_events. Each event carries its
 * own description. This interface converts them to events with schemas, like those of other providers.
 */
#ifndef PTL_EVENT_HEADER_H
#define PTL_EVENT_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/event.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PTL_TRACEPOINT_NAME_MAX 256 /* including the terminating zero */

/* Properties of events, from the name of their tracepoint. */
struct ptl_tracepoint_name {
	char provider[PTL_TRACEPOINT_NAME_MAX]; /* "Contoso_Auth" */
	uint8_t level;
	uint64_t keyword;
	char options[PTL_TRACEPOINT_NAME_MAX]; /* "Ggroup", or "" */
};

/*
 * Parses "Provider_L4K2a" or "Provider_L4K2aGgroup", with or without a leading "user_events:". Returns false if the
 * name does not follow the convention: then the tracepoint is not EventHeader's.
 */
bool ptl_tracepoint_name_parse(const char *text, struct ptl_tracepoint_name *name);

/* Decoder state: the descriptions seen so far. For one thread at a time. */
struct ptl_event_headers;

/*
 * Creates a decoder. guid_of derives a provider's GUID from its name, as ptl_guid_from_name of libptl-provider does,
 * and returns 0 or a failure. PTL_NO_MEMORY.
 */
int ptl_event_headers_new(int (*guid_of)(const char *name, struct ptl_guid *guid), struct ptl_event_headers **headers);
void ptl_event_headers_free(struct ptl_event_headers *headers);

/*
 * Sets the alignment of events: fewer than `below` trailing bytes are padding, not payload. perf.data has up to 11
 * bytes of padding. Default 0: no padding.
 */
void ptl_event_headers_alignment(struct ptl_event_headers *headers, size_t below);

/* Extended item of an event whose bytes do not match its own description: the original bytes. */
#define PTL_EXTENDED_EVENT_HEADER 0x4548

/*
 * Decodes an event. bytes: the event from its header on; in a kernel record, the header follows the common fields of
 * the tracepoint (8 bytes). Sets *event except time, cpu, pid and tid. Payload and extended items live until the next
 * call. *schema: description of the payload, alive until ptl_event_headers_free; NULL if the event has no description:
 * then the payload is all bytes after the header's extensions. *is_new: the schema is returned for the first time, so
 * that a file needs to store it.
 *
 * An event without an id gets an id from 0x8000 on, and a version, from a hash of its description: the same in every
 * trace. Payloads are converted to the form of docs/format.md: little-endian, UTF-32 to UTF-8, UUIDs to GUIDs, seconds
 * to nanoseconds (saturated if out of range), 16-bit booleans to 32 bits. Attributes in the names of event and fields,
 * and the options in the tracepoint's name, are dropped. A field of unknown encoding and all fields after it become one
 * field of bytes.
 *
 * PTL_NOT_OURS: the tracepoint's name does not follow the convention. PTL_UNSUPPORTED: unknown flags. PTL_TRUNCATED:
 * fewer bytes than a header. PTL_CORRUPT: extensions or description contradict themselves; *event is set nevertheless,
 * with all bytes after the header as payload, and *schema is NULL. PTL_NO_MEMORY, and failures of guid_of.
 */
int ptl_event_header_decode(struct ptl_event_headers *headers, const char *tracepoint, const uint8_t *bytes,
			    size_t size, struct ptl_event *event, const struct ptl_schema **schema, bool *is_new);

#ifdef __cplusplus
}
#endif

#endif
