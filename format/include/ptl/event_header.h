/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * EventHeader: the events that Microsoft's LinuxTracepoints libraries write through user_events. Each carries its
 * own description; here they become events with schemas, as those of all other providers.
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

#define PTL_TRACEPOINT_NAME_MAX 256 /* with the zero byte at the end */

/* What the name of a tracepoint says about its events. */
struct ptl_tracepoint_name {
	char provider[PTL_TRACEPOINT_NAME_MAX]; /* "Contoso_Auth" */
	uint8_t level;
	uint64_t keyword;
	char options[PTL_TRACEPOINT_NAME_MAX]; /* "Ggroup", or "" */
};

/*
 * Reads "Provider_L4K2a" or "Provider_L4K2aGgroup", with or without "user_events:" before it. False: the name does
 * not follow the convention, and so is of no EventHeader event.
 */
bool ptl_tracepoint_name_parse(const char *text, struct ptl_tracepoint_name *name);

/* The descriptions that have been met. For one thread. */
struct ptl_event_headers;

/*
 * guid_of makes a provider's GUID of its name (ptl_guid_from_name of libptl-provider does), and returns 0 or a
 * failure. PTL_NO_MEMORY.
 */
int ptl_event_headers_new(int (*guid_of)(const char *name, struct ptl_guid *guid), struct ptl_event_headers **headers);
void ptl_event_headers_free(struct ptl_event_headers *headers);

/*
 * Says that events come with alignment: fewer than `below` bytes behind the last field are none of the payload. perf.data has
 * up to 11 of them. 0, which it is at first: all bytes are.
 */
void ptl_event_headers_alignment(struct ptl_event_headers *headers, size_t below);

/* Extended item of an event whose bytes do not fit its own description: those bytes, as they were recorded. */
#define PTL_EXTENDED_EVENT_HEADER 0x4548

/*
 * Decodes one event. bytes begin with the event's header: in a record of the kernel they are what follows the
 * tracepoint's common fields (8 bytes). Sets *event but for its time, cpu, pid and tid; payload and extended items live
 * until the next call. *schema explains the payload, and lives until ptl_event_headers_free; NULL where the event
 * describes itself not (its payload is then all bytes behind the header's extensions). *is_new: this schema has not
 * been given before, so a file needs it.
 *
 * An event without an id gets one from 0x8000 up, and a version, of a hash of its description: the same in every
 * trace. Payloads are rewritten as docs/format.md has them: little-endian, UTF-32 as UTF-8, UUIDs as GUIDs, seconds
 * as nanoseconds (the farthest there are, for times beyond), 16-bit booleans as 32 bits. Attributes behind the names
 * of event and fields, and the options in the tracepoint's name, are left out. A field of an unknown encoding, and all that follows it, is one field of bytes.
 *
 * PTL_NOT_OURS: the tracepoint's name is not by the convention. PTL_UNSUPPORTED: unknown flags. PTL_TRUNCATED: fewer
 * bytes than a header. PTL_CORRUPT: extensions or description contradict themselves; *event is set all the same, with
 * all bytes behind the header as payload, and *schema is NULL. PTL_NO_MEMORY, and what guid_of returns.
 */
int ptl_event_header_decode(struct ptl_event_headers *headers, const char *tracepoint, const uint8_t *bytes,
			    size_t size, struct ptl_event *event, const struct ptl_schema **schema, bool *is_new);

#ifdef __cplusplus
}
#endif

#endif
