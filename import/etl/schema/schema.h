/* SPDX-License-Identifier: BSD-2-Clause */
/* What explains the payload of an event, in ETW's words and in those of the trace. */
#ifndef IMPORT_ETL_SCHEMA_SCHEMA_H
#define IMPORT_ETL_SCHEMA_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/event.h>

#include "common/bytes.h"

/* TDH_INTYPE_*: how a field lies in the payload. TraceLogging's are the same up to 25. */
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
	ETL_IN_DUMP = 309,      /* a u32 counts the bytes */
	ETL_IN_WBEM_SID = 310,  /* behind two pointers, if the first is not 0 */
	ETL_IN_TICKS = 1000,    /* not TDH's: a time in ticks of the file's clock */
	ETL_IN_REST = 1001,     /* not TDH's: all bytes that are left */
	ETL_IN_PATH = 1002,     /* not TDH's: UTF-16 that may name a device */
	ETL_IN_IMAGE_ID = 1003, /* not TDH's, and not in the payload: what is known of an image's debug information */
	ETL_IN_PDB = 1004,      /* its name, which the one before has written */
	ETL_IN_SOCKET = 1005,   /* not TDH's: a binary that is a SOCKADDR */
	ETL_IN_OPTIONAL_UTF16 = 1007, /* not TDH's: UTF-16 that later systems write at the end */
	ETL_IN_FILE_NAME = 1008, /* not TDH's, and not in the payload: the name of the file that the event is about */
	ETL_IN_COUNTED_SOCKET = 1006, /* likewise, with its size in front */
};

/* TDH_OUTTYPE_*: how a field is to be shown. */
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

/* Where a number of elements, or of units of a string, comes from. */
enum etl_size {
	ETL_SIZE_OWN, /* none, or as the type has it */
	ETL_SIZE_FIXED,
	ETL_SIZE_FIELD,   /* the value of an earlier field */
	ETL_SIZE_PREFIX,  /* a u16 before the elements */
	ETL_SIZE_REST,    /* as many pointers as are left */
	ETL_SIZE_UNKNOWN, /* the description names a field that is not there */
};

struct etl_field {
	const char *name;
	uint16_t in, out;  /* enum etl_in, etl_out */
	uint8_t count_is;  /* enum etl_size: of elements */
	uint8_t length_is; /* of units of a string, or bytes */
	uint32_t count;    /* a number, or the index of a field */
	uint32_t length;
	uint32_t members; /* of a structure: so many of the next fields, those of structures within it counted */
	const char *map;
	uint32_t tags;
	bool is_flags; /* the map is one of bits */
};

#define ETL_FIELDS_MAX 1024u

struct etl_schema {
	struct ptl_schema ptl; /* what the trace gets */
	struct etl_field *fields;
	size_t field_count, field_capacity;
	struct etl_text *texts; /* that names point to */
	bool any_opcode;        /* explains events with any opcode: each gets a schema in the trace */
	uint8_t written[32];    /* a bit for each opcode with which the trace has the schema */
	bool from_table;        /* of the runtime's events: its maps are written with it */
	bool refers;            /* a field's size is the value of another */
	bool is_cut;            /* the last field is all of the payload from a field on whose size nothing tells */
	/* Where payloads stay as they are: bytes of fixed size, then perhaps a string. By pointers of 4 and 8 bytes. */
	bool as_is[2];
	size_t fixed;
	uint8_t last; /* PTL_TYPE_UTF16 or _UTF8 of the string at the end; 0: none */
};

struct etl_schema *etl_schema_new(void);
void etl_schema_free(struct etl_schema *schema);
/* A copy that lives as long as the schema; NULL without memory. Bytes behind a zero are left out. */
const char *etl_schema_text(struct etl_schema *schema, const char *text, size_t size);
/* The same of UTF-16 in a field of size bytes, up to a zero unit; blanks at the end are left out. */
const char *etl_schema_text16(struct etl_schema *schema, const uint8_t *text, size_t size);
/* The next field, zeroed, or NULL: too many, or no memory. */
struct etl_field *etl_schema_field(struct etl_schema *schema);
/*
 * Makes the trace's schema of the fields, which are all there. A field whose size nothing tells becomes the rest of the
 * payload, and the fields behind it are left out. PTL_NO_MEMORY, PTL_UNSUPPORTED (an unknown type).
 */
int etl_schema_finish(struct etl_schema *schema);

/* About how many bytes it takes in the trace. */
size_t etl_schema_bytes(const struct etl_schema *schema);

#endif
