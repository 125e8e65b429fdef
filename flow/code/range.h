/* SPDX-License-Identifier: BSD-2-Clause */
/* Ranges of addresses, and of code. */
#ifndef FLOW_CODE_RANGE_H
#define FLOW_CODE_RANGE_H

#include <stdbool.h>
#include <stdint.h>

/* A range of consecutive addresses. */
struct flow_code_span {
	uint64_t first;
	uint64_t last; /* inclusive */
};

/* A range of addresses, and the code bytes in this range. */
struct flow_code_range {
	uint64_t first;
	uint64_t last;        /* inclusive */
	const uint8_t *bytes; /* bytes from `first` on; NULL: unknown */
	uint32_t image;       /* image of the bytes; FLOW_NONE */
	bool code_event;
};

#endif
