/* SPDX-License-Identifier: BSD-2-Clause */
/* Fields of each kind of packet as a table: name, place in struct ptl_pt_packet, range, style. */
#ifndef PTL_FORMAT_PT_FIELDS_H
#define PTL_FORMAT_PT_FIELDS_H

#include <ptl/pt.h>

enum ptl_pt_field_style {
	PTL_PT_FIELD_NUMBER,   /* decimal: counts and clocks */
	PTL_PT_FIELD_HEX,      /* hexadecimal: addresses and raw payloads */
	PTL_PT_FIELD_FLAG,     /* 0 or 1: named where it is 1 */
	PTL_PT_FIELD_BYTES,    /* 4 or 8: size of a payload */
	PTL_PT_FIELD_FORM,     /* enum ptl_pt_ip_form */
	PTL_PT_FIELD_BRANCHES, /* count of tnt.bits */
};

struct ptl_pt_field {
	const char *name;
	uint8_t offset; /* in struct ptl_pt_packet */
	uint8_t width;  /* bytes there: 1, 2, 4 or 8 */
	uint8_t bits;   /* values are below 2^bits */
	uint8_t zeros;  /* this many low bits are always 0 */
	uint8_t style;  /* enum ptl_pt_field_style */
};

#define PTL_PT_FIELDS_MAX 5

/* The fields of a kind, ended by one without a name; never NULL. */
const struct ptl_pt_field *ptl_pt_fields(unsigned kind);

uint64_t ptl_pt_field_get(const struct ptl_pt_packet *packet, const struct ptl_pt_field *field);
/* Stores the low bits of value that the field has room for: check with ptl_pt_packet_invalid. */
void ptl_pt_field_set(struct ptl_pt_packet *packet, const struct ptl_pt_field *field,
		      uint64_t value);

/*
 * NULL where packet is of a known kind and all its fields are in range, each by itself and
 * together; otherwise the name of the first that is not ("kind" for an unknown kind).
 */
const char *ptl_pt_packet_invalid(const struct ptl_pt_packet *packet);

#endif
