/* SPDX-License-Identifier: BSD-2-Clause */
/* Events as in ETW: a header, a payload, and the schema that explains the payload. */
#ifndef PTL_EVENT_H
#define PTL_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/bytes.h>
#include <ptl/error.h>
#include <ptl/guid.h>

#ifdef __cplusplus
extern "C" {
#endif

/* EVENT_DESCRIPTOR of ETW (evntprov.h), plus the provider. */
struct ptl_descriptor {
	struct ptl_guid provider;
	uint16_t id;
	uint8_t version;
	uint8_t channel;
	uint8_t level;
	uint8_t opcode;
	uint16_t task;
	uint64_t keyword;
};

/* Opcodes, as ETW has them; 11 to 239 are one's own. */
enum ptl_event_opcode {
	PTL_OPCODE_INFO = 0,
	PTL_OPCODE_START = 1,
	PTL_OPCODE_STOP = 2,
	PTL_OPCODE_COLLECTION_START = 3,
	PTL_OPCODE_COLLECTION_STOP = 4,
	PTL_OPCODE_EXTENSION = 5,
	PTL_OPCODE_REPLY = 6,
	PTL_OPCODE_RESUME = 7,
	PTL_OPCODE_SUSPEND = 8,
	PTL_OPCODE_SEND = 9,
	PTL_OPCODE_RECEIVE = 240,
};

/* An extended item, as ETW's extended data: carried along, known or not. */
struct ptl_extended {
	uint16_t type;
	uint16_t size;
	const uint8_t *data;
};

/*
 * An item of PTL's own: kernel time and user time of the event's thread until the event, each a u64 in nanoseconds.
 * Other items have ETW's types, EVENT_HEADER_EXT_TYPE_*.
 */
#define PTL_EXTENDED_THREAD_TIMES 0x5454
/* The payload of an event of ETW as it was recorded, where it does not fit its own description. */
#define PTL_EXTENDED_ETW_PAYLOAD 0x5745
/*
 * No bytes: no schema explains the payload, whatever the trace says of equal descriptors. An event of ETW that nothing described
 * has this item: its payload is as ETW recorded it, with pointers of 32 bits from systems of 32 bits.
 */
#define PTL_EXTENDED_RAW 0x5752
/* The id (u16) and version (u8) that a self-describing event of ETW was recorded with; PTL's come from its description. */
#define PTL_EXTENDED_ETW_ID 0x5749

/* ptl_event.flags */
#define PTL_EVENT_HAS_ACTIVITY 0x1u
#define PTL_EVENT_HAS_RELATED 0x2u
#define PTL_EVENT_INJECTED 0x4u /* not recorded but added by a rewriting */

/* One event. A reader's event points into memory that is valid until its callback returns. */
struct ptl_event {
	struct ptl_descriptor descriptor;
	uint64_t time; /* trace clock, nanoseconds */
	uint32_t cpu;  /* PTL_NO_CPU: unknown */
	uint32_t pid;  /* PTL_NO_ID: none */
	uint32_t tid;
	uint32_t flags;
	struct ptl_guid activity;
	struct ptl_guid related;
	const uint8_t *payload;
	size_t payload_size; /* at most PTL_PAYLOAD_MAX */
	const struct ptl_extended *extended;
	size_t extended_count;
};

#define PTL_PAYLOAD_MAX (1u << 20)

/* Whether the event has the item PTL_EXTENDED_RAW. */
bool ptl_event_is_raw(const struct ptl_event *event);

/* Types of payload fields; little-endian, not aligned. */
enum ptl_type {
	PTL_TYPE_U8 = 1,
	PTL_TYPE_I8,
	PTL_TYPE_U16,
	PTL_TYPE_I16,
	PTL_TYPE_U32,
	PTL_TYPE_I32,
	PTL_TYPE_U64,
	PTL_TYPE_I64,
	PTL_TYPE_F32,
	PTL_TYPE_F64,
	PTL_TYPE_BOOL8,
	PTL_TYPE_BOOL32,
	PTL_TYPE_POINTER,       /* 64 bits, shown in hexadecimal */
	PTL_TYPE_TIME,          /* u64, trace clock */
	PTL_TYPE_WALL_TIME,     /* i64, nanoseconds since 1970 UTC */
	PTL_TYPE_GUID,          /* 16 bytes */
	PTL_TYPE_UTF8,          /* ends with a zero byte */
	PTL_TYPE_UTF16,         /* ends with a zero unit */
	PTL_TYPE_UTF8_COUNTED,  /* u16 count of bytes, then the bytes */
	PTL_TYPE_UTF16_COUNTED, /* u16 count of units, then the units */
	PTL_TYPE_BYTES_COUNTED, /* u16 count of bytes, then the bytes */
	PTL_TYPE_BYTES,         /* `length` bytes; length 0 means the rest of the payload */
	PTL_TYPE_STRUCT,        /* the next `length` fields of the schema belong to it */
};

enum ptl_array {
	PTL_ARRAY_NONE,
	PTL_ARRAY_FIXED /* array_length elements */,
	PTL_ARRAY_COUNTED /* u16 count before the elements */
};

#define PTL_FORMAT_DEFAULT 0
#define PTL_FORMAT_HEX 1
#define PTL_FORMAT_STRING 2 /* numbers that are characters */
#define PTL_FORMAT_ADDRESS 3
#define PTL_FORMAT_HASH 4 /* bytes as one hexadecimal word */
/* Since 1.1: */
#define PTL_FORMAT_ERRNO 5 /* a number of errno(3) */
#define PTL_FORMAT_PORT 6  /* u16, its bytes in network order */
#define PTL_FORMAT_IP 7    /* u32 or 4 bytes: IPv4; 16 bytes (a GUID's too): IPv6; all in network order */
#define PTL_FORMAT_JSON 8  /* strings */
#define PTL_FORMAT_XML 9
#define PTL_FORMAT_LATIN1 10 /* byte strings, and u8 that are characters, in ISO 8859-1 */

struct ptl_field {
	const char *name;
	uint8_t type;    /* enum ptl_type */
	uint8_t format;  /* PTL_FORMAT_* */
	uint8_t array;   /* enum ptl_array */
	uint32_t length; /* see the types BYTES and STRUCT */
	uint32_t array_length;
	const char *map; /* name of a map of the provider, PTL_MAP_VALUES or PTL_MAP_FLAGS; or NULL */
	uint32_t tags;   /* the author's own; 0: none */
};

/* What explains an event. Identity: provider, id, version, opcode (classic events differ by opcode alone). */
struct ptl_schema {
	struct ptl_guid provider;
	uint16_t id;
	uint8_t version;
	uint8_t opcode;
	const char *provider_name; /* "PTL-Kernel" */
	const char *event_name;    /* "Image/Load" */
	const char *task_name;     /* "Image", or "" */
	const char *opcode_name;   /* "Load", or "" */
	const char *message;       /* template with {0}-style places, or "" */
	const struct ptl_field *fields;
	size_t field_count;
	/* What events of this kind have in their descriptors, for those who make some. 0 where unknown. */
	uint8_t level;
	uint8_t channel;
	uint16_t task;
	uint64_t keyword;
	uint32_t tags; /* of all events of this kind: EventSource's EventTags, EventHeader's tag */
};

/* What the numbers of a map are. */
enum ptl_map_kind {
	PTL_MAP_VALUES,   /* values of fields: one name for each */
	PTL_MAP_FLAGS,    /* values of fields: names of bits, joined with | */
	PTL_MAP_KEYWORDS, /* bits of ptl_descriptor.keyword; these kinds need no name */
	PTL_MAP_TASKS,
	PTL_MAP_OPCODES,
	PTL_MAP_CHANNELS,
	PTL_MAP_LEVELS,
};

struct ptl_map_entry {
	uint64_t value; /* of a signed field: its 64-bit extension */
	const char *name;
};

/* Names that a provider gives to numbers. Identity: provider, kind, name. */
struct ptl_map {
	struct ptl_guid provider;
	uint32_t kind;    /* enum ptl_map_kind, or one of a newer version */
	const char *name; /* what ptl_field.map refers to; "" for the kinds from PTL_MAP_KEYWORDS on */
	const struct ptl_map_entry *entries; /* a reader's are sorted by value, each value once */
	size_t count;
};

/* The name of exactly this value in a reader's map; NULL: none, or map is NULL. */
const char *ptl_map_name(const struct ptl_map *map, uint64_t value);

/* One decoded field (an array gives one value for each element). */
struct ptl_value {
	const struct ptl_field *field;
	unsigned depth; /* nesting in structures */
	uint32_t index; /* element of an array */
	union {
		uint64_t u;
		int64_t i;
		double f;
	};
	const uint8_t *bytes; /* strings, bytes and GUIDs: in the payload */
	size_t size;          /* in bytes, the terminating zero not counted */
};

/*
 * Calls visit for each field of the payload in order; stops at a non-zero result and returns it.
 * PTL_TRUNCATED where the payload ends within a field (the fields before it have been visited),
 * PTL_CORRUPT for a schema that contradicts itself. Bytes behind the last field are no error; their
 * number is put into *rest (may be NULL).
 */
int ptl_payload_decode(const struct ptl_schema *schema, const uint8_t *payload, size_t size,
		       int (*visit)(void *context, const struct ptl_value *value), void *context, size_t *rest);

/* What a walk comes to. */
enum ptl_step {
	PTL_STEP_VALUE,
	PTL_STEP_ARRAY, /* an array begins; value->u is the number of its elements, perhaps 0 */
	PTL_STEP_ARRAY_END,
	PTL_STEP_STRUCT, /* a structure (an element of an array of them) begins */
	PTL_STEP_STRUCT_END,
};

/*
 * The same, step by step: beginnings and ends are nested as they should be, but what is open when the walk
 * fails is not ended. value->field, depth and index are always set; bytes and size for values alone.
 */
int ptl_payload_walk(const struct ptl_schema *schema, const uint8_t *payload, size_t size,
		     int (*visit)(void *context, enum ptl_step step, const struct ptl_value *value), void *context,
		     size_t *rest);

/*
 * The inverse: appends the payload that these values make, which are in the order in which decoding gives
 * them: an array has one for each element (with its index), a structure one for each element, followed by its
 * members. Numbers are taken from u, i or f, all others from bytes and size (UTF-16 as it is in payloads, without
 * the terminating zero). PTL_MISUSE where a value is missing, out of place or does not fit its type (nothing is
 * appended then), or the payload would pass PTL_PAYLOAD_MAX; PTL_NO_MEMORY.
 */
int ptl_payload_encode(const struct ptl_schema *schema, const struct ptl_value *values, size_t count,
		       struct ptl_bytes *out);

#ifdef __cplusplus
}
#endif

#endif
