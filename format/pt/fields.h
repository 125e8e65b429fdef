/* SPDX-License-Identifier: BSD-2-Clause */
/* Fields of each kind of packet as a table: name, place in struct ptl_pt_packet, range, style. */
#ifndef FORMAT_PT_FIELDS_H
#define FORMAT_PT_FIELDS_H

#include <ptl/pt.h>

enum format_pt_field_style {
	FORMAT_PT_FIELD_NUMBER,   /* decimal: counts and clocks */
	FORMAT_PT_FIELD_HEX,      /* hexadecimal: addresses and raw payloads */
	FORMAT_PT_FIELD_FLAG,     /* 0 or 1: named where it is 1 */
	FORMAT_PT_FIELD_BYTES,    /* 4 or 8: size of a payload */
	FORMAT_PT_FIELD_FORM,     /* enum ptl_pt_ip_form */
	FORMAT_PT_FIELD_BRANCHES, /* count of tnt.bits */
};

struct format_pt_field {
	const char *name;
	uint8_t offset; /* in struct ptl_pt_packet */
	uint8_t width;  /* bytes there: 1, 2, 4 or 8 */
	uint8_t bits;   /* values are below 2^bits */
	uint8_t zeros;  /* this many low bits are always 0 */
	uint8_t style;  /* enum format_pt_field_style */
};

#define FORMAT_PT_FIELDS_MAX 5

/* The fields of a kind, ended by one without a name; never NULL. */
const struct format_pt_field *format_pt_fields(unsigned kind);

uint64_t format_pt_field_get(const struct ptl_pt_packet *packet, const struct format_pt_field *field);
/* Stores the low bits of value that the field has room for: check with format_pt_packet_invalid. */
void format_pt_field_set(struct ptl_pt_packet *packet, const struct format_pt_field *field, uint64_t value);

/*
 * NULL where packet is of a known kind and all its fields are in range, each by itself and
 * together; otherwise the name of the first that is not ("kind" for an unknown kind).
 */
const char *format_pt_packet_invalid(const struct ptl_pt_packet *packet);

#endif
