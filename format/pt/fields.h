/* SPDX-License-Identifier: BSD-2-Clause */
/* Table of the fields of each packet kind: name, place in struct ptl_pt_packet, range, style. */
#ifndef FORMAT_PT_FIELDS_H
#define FORMAT_PT_FIELDS_H

#include <ptl/pt.h>

enum format_pt_field_style {
	FORMAT_PT_FIELD_NUMBER,   /* decimal: counts and clocks */
	FORMAT_PT_FIELD_HEX,      /* hexadecimal: addresses and raw payloads */
	FORMAT_PT_FIELD_FLAG,     /* 0 or 1: shown by its name if 1 */
	FORMAT_PT_FIELD_BYTES,    /* 4 or 8: size of a payload */
	FORMAT_PT_FIELD_FORM,     /* enum ptl_pt_ip_form */
	FORMAT_PT_FIELD_BRANCHES, /* count of tnt.bits */
};

struct format_pt_field {
	const char *name;
	uint8_t offset; /* in struct ptl_pt_packet */
	uint8_t width;  /* bytes of the member: 1, 2, 4 or 8 */
	uint8_t bits;   /* values are below 2^bits */
	uint8_t zeros;  /* number of low bits that are always 0 */
	uint8_t style;  /* enum format_pt_field_style */
};

#define FORMAT_PT_FIELDS_MAX 5

/* Returns the fields of a kind, terminated by a field without a name; never NULL. */
const struct format_pt_field *format_pt_fields(unsigned kind);

uint64_t format_pt_field_get(const struct ptl_pt_packet *packet, const struct format_pt_field *field);
/* Stores the low bits of `value` that fit the member; format_pt_packet_invalid checks the range. */
void format_pt_field_set(struct ptl_pt_packet *packet, const struct format_pt_field *field, uint64_t value);

/*
 * Checks a packet. Returns NULL if the kind is known and all fields are in range, each alone and in combination;
 * otherwise the name of the first invalid field ("kind" for an unknown kind).
 */
const char *format_pt_packet_invalid(const struct ptl_pt_packet *packet);

#endif
