/* SPDX-License-Identifier: BSD-2-Clause */
/* Ranges of addresses, and of code. */
#ifndef FLOW_CODE_RANGE_H
#define FLOW_CODE_RANGE_H

#include <stdbool.h>
#include <stdint.h>

/* Addresses one after the other. */
struct flow_code_span {
	uint64_t first;
	uint64_t last; /* inclusive */
};

/* Where bytes of code come from: a range of addresses with the bytes that are there. */
struct flow_code_range {
	uint64_t first;
	uint64_t last;        /* inclusive */
	const uint8_t *bytes; /* of `first`; NULL: they are not known */
	uint32_t image;       /* FLOW_NONE */
	bool code_event;
};

#endif
