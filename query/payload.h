/* SPDX-License-Identifier: BSD-2-Clause */
/* Fields of an event's payload: locations by schema, and values. */
#ifndef QUERY_PAYLOAD_H
#define QUERY_PAYLOAD_H

#include "common/bytes.h"
#include "query/evaluate.h"
#include "query/value.h"

#define QUERY_NESTING_MAX 9

/* Location of a field in payloads of a schema. */
struct query_location {
	const struct ptl_field *field; /* NULL: the schema lacks the field */
	size_t index;                  /* index of the field in the schema */
	bool fixed;                    /* a number at `offset` in each payload */
	uint32_t offset;
	/* Else: the enclosing fields, outermost first, and the element index in each. */
	const struct ptl_field *chain[QUERY_NESTING_MAX];
	uint32_t element[QUERY_NESTING_MAX];
	unsigned loop[QUERY_NESTING_MAX]; /* slot of a loop plus one, instead of element; 0: no loop */
	unsigned depth;
	bool whole; /* the whole array */
};

/* Fills a location. location->field is NULL if the schema (may be NULL) lacks the field. */
void query_locate(const struct ptl_schema *schema, const struct query_field *field, struct query_location *location);

/* Values of a payload. Zero-initialised: not decoded. */
struct query_payload {
	bool decoded; /* clear this for another payload */
	struct ptl_value *values;
	size_t count, room;
	size_t rest;    /* bytes behind the last field */
	bool truncated; /* the payload is shorter than the schema */
	/* End of the last search, so that the next element is found without starting over. */
	struct query_found {
		unsigned depth; /* number of known levels */
		const struct ptl_field *field[QUERY_NESTING_MAX];
		uint32_t element[QUERY_NESTING_MAX];
		size_t at[QUERY_NESTING_MAX];
	} found;
};

/*
 * Decodes the payload, unless decoded already. A payload that does not fit its schema has fewer values; without a
 * schema there are no values. Returns PTL_NO_MEMORY.
 */
int query_payload_decode(struct query_payload *payload, const struct ptl_schema *schema, const uint8_t *bytes,
			 size_t size);
void query_payload_free(struct query_payload *payload);

/* Returns the value at a location; NULL: missing. loops: current indexes of loops in the location. */
struct ptl_value *query_payload_find(struct query_payload *payload, const struct query_location *location,
				     const struct query_loops *loops);
/* Returns the number of elements of an array (0 if missing); 1 for a single value. */
uint32_t query_payload_elements(struct query_payload *payload, const struct query_location *location,
				const struct query_loops *loops);
/* Returns the value for expressions; NONE if missing. Returns PTL_NO_MEMORY. */
int query_payload_value(struct query_payload *payload, const struct query_location *location,
			const struct query_loops *loops, struct common_arena *scratch, struct query_value *value);

/*
 * Fast path of most conditions: reads a number at a fixed offset without decoding. Returns false if decoding is needed.
 */
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
