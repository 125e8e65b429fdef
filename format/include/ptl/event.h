/* SPDX-License-Identifier: BSD-2-Clause */
/* Events as in ETW: a header, a payload, and a schema that describes the payload. */
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

/* EVENT_DESCRIPTOR of ETW (evntprov.h), with the provider. */
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

/* Opcodes of ETW. A provider may define 11 to 239. */
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

/* An extended item, like ETW's extended data. Items of unknown types are preserved. */
struct ptl_extended {
	uint16_t type;
	uint16_t size;
	const uint8_t *data;
};

/*
 * PTL's own item: kernel time and user time of the event's thread up to the event, each a u64 in nanoseconds. Other
 * items have ETW's types, EVENT_HEADER_EXT_TYPE_*.
 */
#define PTL_EXTENDED_THREAD_TIMES 0x5454
/* The original payload of an ETW event whose payload does not match its own description. */
#define PTL_EXTENDED_ETW_PAYLOAD 0x5745
/*
 * An item without bytes: no schema describes the payload, even if the trace has a schema for an equal descriptor. Marks
 * an ETW event without a description: the payload is as ETW recorded it, with 32-bit pointers if the system was 32-bit.
 */
#define PTL_EXTENDED_RAW 0x5752
/*
 * The id (u16) and version (u8) recorded with a self-describing ETW event. PTL derives its own id and version from the
 * description.
 */
#define PTL_EXTENDED_ETW_ID 0x5749

/* Bits of ptl_event.flags. */
#define PTL_EVENT_HAS_ACTIVITY 0x1u
#define PTL_EVENT_HAS_RELATED 0x2u
#define PTL_EVENT_INJECTED 0x4u /* added by rewriting, not recorded */

/* An event. Pointers of a reader's event are valid until its callback returns. */
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

/* Types of payload fields; little-endian, unaligned. */
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
	PTL_TYPE_BYTES,         /* `length` bytes; length 0: the rest of the payload */
	PTL_TYPE_STRUCT,        /* its members are the next `length` fields of the schema */
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
#define PTL_FORMAT_ERRNO 5 /* an errno value */
#define PTL_FORMAT_PORT 6  /* u16, its bytes in network order */
#define PTL_FORMAT_IP 7    /* u32 or 4 bytes: IPv4; 16 bytes (also a GUID's): IPv6; in network byte order */
#define PTL_FORMAT_JSON 8  /* for strings */
#define PTL_FORMAT_XML 9
#define PTL_FORMAT_LATIN1 10 /* byte strings, and u8 characters, in ISO 8859-1 */

struct ptl_field {
	const char *name;
	uint8_t type;    /* enum ptl_type */
	uint8_t format;  /* PTL_FORMAT_* */
	uint8_t array;   /* enum ptl_array */
	uint32_t length; /* see the types BYTES and STRUCT */
	uint32_t array_length;
	const char *map; /* name of a map of the provider (PTL_MAP_VALUES or PTL_MAP_FLAGS), or NULL */
	uint32_t tags;   /* defined by the provider's author; 0: none */
};

/* Describes a kind of events. Identity: provider, id, version, opcode (classic events differ only by opcode). */
struct ptl_schema {
	struct ptl_guid provider;
	uint16_t id;
	uint8_t version;
	uint8_t opcode;
	const char *provider_name; /* "PTL-Kernel" */
	const char *event_name;    /* "Image/Load" */
	const char *task_name;     /* "Image", or "" */
	const char *opcode_name;   /* "Load", or "" */
	const char *message;       /* template with placeholders such as {0}, or "" */
	const struct ptl_field *fields;
	size_t field_count;
	/* Defaults for the descriptors of events of this kind, for programs that create events. 0 if unknown. */
	uint8_t level;
	uint8_t channel;
	uint16_t task;
	uint64_t keyword;
	uint32_t tags; /* common to all events of this kind: EventSource's EventTags, EventHeader's tag */
};

/* Meaning of the numbers in a map. */
enum ptl_map_kind {
	PTL_MAP_VALUES,   /* values of fields: one name per value */
	PTL_MAP_FLAGS,    /* values of fields: names of bits, joined with | */
	PTL_MAP_KEYWORDS, /* bits of ptl_descriptor.keyword; maps from this kind on need no name */
	PTL_MAP_TASKS,
	PTL_MAP_OPCODES,
	PTL_MAP_CHANNELS,
	PTL_MAP_LEVELS,
};

struct ptl_map_entry {
	uint64_t value; /* for a signed field: sign-extended to 64 bits */
	const char *name;
};

/* Names that a provider gives to numbers. Identity: provider, kind, name. */
struct ptl_map {
	struct ptl_guid provider;
	uint32_t kind;                       /* enum ptl_map_kind, or a kind of a newer version */
	const char *name;                    /* name used by ptl_field.map; "" for the kinds from PTL_MAP_KEYWORDS on */
	const struct ptl_map_entry *entries; /* in a map from a reader: sorted by value, without duplicates */
	size_t count;
};

/* Returns the name of this value in a map from a reader. NULL if the map lacks the value, or map is NULL. */
const char *ptl_map_name(const struct ptl_map *map, uint64_t value);

/* A decoded field. An array gives one value per element. */
struct ptl_value {
	const struct ptl_field *field;
	unsigned depth; /* number of enclosing structures */
	uint32_t index; /* index in an array */
	union {
		uint64_t u;
		int64_t i;
		double f;
	};
	const uint8_t *bytes; /* for strings, bytes and GUIDs: address in the payload */
	size_t size;          /* in bytes, without the terminating zero */
};

/*
 * Calls `visit` for each field of the payload in order. Stops at a non-zero result of visit and returns this result.
 * Trailing bytes are no error; *rest (may be NULL) becomes their number. PTL_TRUNCATED: the payload ends within a
 * field, and the preceding fields were visited. PTL_CORRUPT: the schema contradicts itself.
 */
int ptl_payload_decode(const struct ptl_schema *schema, const uint8_t *payload, size_t size,
		       int (*visit)(void *context, const struct ptl_value *value), void *context, size_t *rest);

/* Steps of a walk. */
enum ptl_step {
	PTL_STEP_VALUE,
	PTL_STEP_ARRAY, /* start of an array; value->u: number of elements, possibly 0 */
	PTL_STEP_ARRAY_END,
	PTL_STEP_STRUCT, /* start of a structure, or of a structure in an array */
	PTL_STEP_STRUCT_END,
};

/*
 * As ptl_payload_decode, with a call per step. Starts and ends are properly nested; after a failure, open structures
 * and arrays get no end. value->field, depth and index are always set, bytes and size only for PTL_STEP_VALUE.
 */
int ptl_payload_walk(const struct ptl_schema *schema, const uint8_t *payload, size_t size,
		     int (*visit)(void *context, enum ptl_step step, const struct ptl_value *value), void *context,
		     size_t *rest);

/*
 * Encodes values as a payload, the inverse of ptl_payload_decode, and appends the payload to `out`. The values are in
 * decoding order: an array has one value per element (with its index), a structure has one value per element, followed
 * by its members. Numbers are taken from u, i or f, other types from bytes and size (UTF-16 as in payloads, without the
 * terminating zero). PTL_MISUSE: a value is missing, misplaced or does not fit its type, or the payload exceeds
 * PTL_PAYLOAD_MAX; nothing is appended then. PTL_NO_MEMORY.
 */
int ptl_payload_encode(const struct ptl_schema *schema, const struct ptl_value *values, size_t count,
		       struct ptl_bytes *out);

#ifdef __cplusplus
}
#endif

#endif
