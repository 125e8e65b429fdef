/* SPDX-License-Identifier: BSD-2-Clause */
/* Schemas of event payloads, with ETW's types and the trace's types. */
#ifndef IMPORT_ETL_SCHEMA_SCHEMA_H
#define IMPORT_ETL_SCHEMA_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/event.h>

#include "common/bytes.h"

/* TDH_INTYPE_*: type of a field in the payload. TraceLogging uses the same values up to 25. */
enum etl_in {
	ETL_IN_NULL = 0,
	ETL_IN_UTF16 = 1,
	ETL_IN_ANSI = 2,
	ETL_IN_INT8 = 3,
	ETL_IN_UINT8 = 4,
	ETL_IN_INT16 = 5,
	ETL_IN_UINT16 = 6,
	ETL_IN_INT32 = 7,
	ETL_IN_UINT32 = 8,
	ETL_IN_INT64 = 9,
	ETL_IN_UINT64 = 10,
	ETL_IN_FLOAT = 11,
	ETL_IN_DOUBLE = 12,
	ETL_IN_BOOLEAN = 13,
	ETL_IN_BINARY = 14,
	ETL_IN_GUID = 15,
	ETL_IN_POINTER = 16,
	ETL_IN_FILETIME = 17,
	ETL_IN_SYSTEMTIME = 18,
	ETL_IN_SID = 19,
	ETL_IN_HEX32 = 20,
	ETL_IN_HEX64 = 21,
	ETL_IN_COUNTED_UTF16 = 22,
	ETL_IN_COUNTED_ANSI = 23,
	ETL_IN_STRUCT = 24,
	ETL_IN_COUNTED_BINARY = 25,
	ETL_IN_MOF_COUNTED_UTF16 = 300,
	ETL_IN_MOF_COUNTED_ANSI = 301,
	ETL_IN_REVERSED_UTF16 = 302,
	ETL_IN_REVERSED_ANSI = 303,
	ETL_IN_REST_UTF16 = 304,
	ETL_IN_REST_ANSI = 305,
	ETL_IN_CHAR16 = 306,
	ETL_IN_CHAR8 = 307,
	ETL_IN_SIZE = 308,
	ETL_IN_DUMP = 309,            /* bytes, counted by a u32 */
	ETL_IN_WBEM_SID = 310,        /* SID behind two pointers, unless the first pointer is 0 */
	ETL_IN_TICKS = 1000,          /* not of TDH: a time in ticks of the file's clock */
	ETL_IN_REST = 1001,           /* not of TDH: all remaining bytes */
	ETL_IN_PATH = 1002,           /* not of TDH: UTF-16 that may name a device */
	ETL_IN_IMAGE_ID = 1003,       /* not of TDH, not in the payload: identity of an image's debug information */
	ETL_IN_PDB = 1004,            /* name of the PDB, which the preceding ETL_IN_IMAGE_ID has written */
	ETL_IN_SOCKET = 1005,         /* not of TDH: binary data with a SOCKADDR */
	ETL_IN_OPTIONAL_UTF16 = 1007, /* not of TDH: UTF-16 at the end, written by newer systems only */
	ETL_IN_FILE_NAME = 1008,      /* not of TDH, not in the payload: name of the event's file */
	ETL_IN_COUNTED_SOCKET = 1006, /* as ETL_IN_SOCKET, preceded by its size */
};

/* TDH_OUTTYPE_*: display type of a field. */
enum etl_out {
	ETL_OUT_STRING = 1,
	ETL_OUT_DATETIME = 2,
	ETL_OUT_BOOLEAN = 13,
	ETL_OUT_HEX8 = 16,
	ETL_OUT_HEX16 = 17,
	ETL_OUT_HEX32 = 18,
	ETL_OUT_HEX64 = 19,
	ETL_OUT_PORT = 22,
	ETL_OUT_IPV4 = 23,
	ETL_OUT_IPV6 = 24,
	ETL_OUT_SOCKET = 25,
	ETL_OUT_XML = 28,
	ETL_OUT_NTSTATUS = 31,
	ETL_OUT_HRESULT = 32,
	ETL_OUT_JSON = 34,
	ETL_OUT_UTF8 = 35,
	ETL_OUT_CODE_POINTER = 37,
};

/* Source of a number of elements, or of a string's length. */
enum etl_size {
	ETL_SIZE_OWN, /* none, or implied by the type */
	ETL_SIZE_FIXED,
	ETL_SIZE_FIELD,   /* value of an earlier field */
	ETL_SIZE_PREFIX,  /* u16 before the elements */
	ETL_SIZE_REST,    /* as many pointers as the payload still has */
	ETL_SIZE_UNKNOWN, /* the description names a missing field */
};

struct etl_field {
	const char *name;
	uint16_t in, out;  /* enum etl_in, etl_out */
	uint8_t count_is;  /* enum etl_size of the number of elements */
	uint8_t length_is; /* enum etl_size of the length in string units, or bytes */
	uint32_t count;    /* number of elements, or index of a field */
	uint32_t length;
	uint32_t members; /* members of a structure, including members of inner structures */
	const char *map;
	uint32_t tags;
	bool is_flags; /* the map has bits */
};

#define ETL_FIELDS_MAX 1024u

struct etl_schema {
	struct ptl_schema ptl; /* the trace's schema */
	struct etl_field *fields;
	size_t field_count, field_capacity;
	struct etl_text *texts; /* memory of names */
	bool any_opcode;        /* explains events with any opcode; the trace gets a schema for each opcode */
	uint8_t written[32];    /* a bit for each opcode whose schema was written */
	bool from_table;        /* from the table of runtime events; maps are written with the schema */
	bool refers;            /* the size of a field is the value of another field */
	bool is_cut;            /* the last field is the rest of the payload, because a field's size is unknown */
	/*
	 * Payloads are copied unchanged: fixed bytes, then optionally a string. Index: 0 for pointers of 4 bytes, 1 for
	 * 8.
	 */
	bool as_is[2];
	size_t fixed;
	uint8_t last; /* PTL_TYPE_UTF16 or _UTF8 of the string at the end; 0: no string */
};

struct etl_schema *etl_schema_new(void);
void etl_schema_free(struct etl_schema *schema);
/* Copies text into memory of the schema, up to a zero. NULL: no memory. */
const char *etl_schema_text(struct etl_schema *schema, const char *text, size_t size);
/* As etl_schema_text for UTF-16 in a field of `size` bytes, up to a zero unit. Removes blanks at the end. */
const char *etl_schema_text16(struct etl_schema *schema, const uint8_t *text, size_t size);
/* Adds a zeroed field. NULL: too many fields, or no memory. */
struct etl_field *etl_schema_field(struct etl_schema *schema);
/*
 * Completes the schema: makes the trace's schema from all fields. A field of unknown size becomes the rest of the
 * payload; the fields behind are dropped. Returns PTL_NO_MEMORY; PTL_UNSUPPORTED for an unknown type.
 */
int etl_schema_finish(struct etl_schema *schema);

/* Returns the approximate size of the schema in the trace, in bytes. */
size_t etl_schema_bytes(const struct etl_schema *schema);

#endif
