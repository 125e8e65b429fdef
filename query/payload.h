/* SPDX-License-Identifier: BSD-2-Clause */
/* The fields of an event, as its schema explains its payload: where they are, and what they hold. */
#ifndef QUERY_PAYLOAD_H
#define QUERY_PAYLOAD_H

#include "common/bytes.h"
#include "query/evaluate.h"
#include "query/value.h"

#define QUERY_NESTING_MAX 9

/* Where a field that an expression names is in the payloads of one schema. */
struct query_location {
	const struct ptl_field *field; /* NULL: this schema does not have it */
	size_t index;                  /* of field in the schema */
	bool fixed;                    /* a number at `offset` of every payload */
	uint32_t offset;
	/* Else: the fields that it is in, outermost first, and which element of each. */
	const struct ptl_field *chain[QUERY_NESTING_MAX];
	uint32_t element[QUERY_NESTING_MAX];
	unsigned loop[QUERY_NESTING_MAX]; /* instead: the slot of a loop plus one; 0: none */
	unsigned depth;
	bool whole; /* an array, all of it */
};

/* Fills a location; its field is NULL where the schema (which may be NULL) has no such field. */
void query_locate(const struct ptl_schema *schema, const struct query_field *field, struct query_location *location);

/* The values of one payload. Zero-initialised: none yet. */
struct query_payload {
	bool decoded; /* cleared where there is another payload */
	struct ptl_value *values;
	size_t count, room;
	size_t rest;    /* bytes behind the last field */
	bool truncated; /* the payload ends before its schema does */
	/* Where the last search ended, so that the next element is not looked for from the start. */
	struct query_found {
		unsigned depth; /* of the levels below: how many are known */
		const struct ptl_field *field[QUERY_NESTING_MAX];
		uint32_t element[QUERY_NESTING_MAX];
		size_t at[QUERY_NESTING_MAX];
	} found;
};

/* Decodes, once; PTL_NO_MEMORY. A payload that its schema does not fit has fewer values; schema NULL: none. */
int query_payload_decode(struct query_payload *payload, const struct ptl_schema *schema, const uint8_t *bytes,
			 size_t size);
void query_payload_free(struct query_payload *payload);

/* The value at a location; NULL: not there. loops: where the loops are that the location names. */
struct ptl_value *query_payload_find(struct query_payload *payload, const struct query_location *location,
				     const struct query_loops *loops);
/* How many elements an array has (0 where it is not there); 1 for what is none. */
uint32_t query_payload_elements(struct query_payload *payload, const struct query_location *location,
				const struct query_loops *loops);
/* What an expression gets of it: NONE where it is not there. PTL_NO_MEMORY. */
int query_payload_value(struct query_payload *payload, const struct query_location *location,
			const struct query_loops *loops, struct common_arena *scratch, struct query_value *value);

/* A number at its fixed place, without decoding; false where it takes the long way. The way of most conditions. */
static inline bool query_payload_number(const struct query_location *location, const uint8_t *bytes, size_t size,
					query_number *number)
{
	static const struct {
		uint8_t size;
		bool is_signed;
	} types[PTL_TYPE_STRUCT + 1] = {
		[PTL_TYPE_U8] = {1, false},       [PTL_TYPE_I8] = {1, true},       [PTL_TYPE_U16] = {2, false},
		[PTL_TYPE_I16] = {2, true},       [PTL_TYPE_U32] = {4, false},     [PTL_TYPE_I32] = {4, true},
		[PTL_TYPE_U64] = {8, false},      [PTL_TYPE_I64] = {8, true},      [PTL_TYPE_TIME] = {8, false},
		[PTL_TYPE_WALL_TIME] = {8, true}, [PTL_TYPE_POINTER] = {8, false},
	};
	unsigned width = location->fixed ? types[location->field->type].size : 0;
	uint64_t bits;

	if (!width || size < location->offset + width)
		return false;
	bits = common_load_le(bytes + location->offset, width);
	*number = bits;
	if (types[location->field->type].is_signed)
		*number = (int64_t)(bits << (64 - 8 * width)) >> (64 - 8 * width);
	return true;
}

#endif
