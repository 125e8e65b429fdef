/* SPDX-License-Identifier: BSD-2-Clause */
/* Random programs whose code changes while they run, as JITs and loaders do it. */
#ifndef TESTS_UNIT_RANDOM_CHANGES_H
#define TESTS_UNIT_RANDOM_CHANGES_H

#include "tests/unit/random_flow.h"

#define RANDOM_CHANGES 1024
#define RANDOM_CHANGES_BYTES (1u << 20)

/* From the time of a PSB, or of a TSC, on these bytes are there. */
struct random_change {
	size_t at;            /* of the PSB in the packets; by time: none */
	uint64_t clock;       /* then */
	uint32_t first, size; /* offsets in the code */
	uint32_t bytes;       /* offset in random_changes */
	bool load;            /* an image comes to lie there; else a code event reports it */
};

/* A megabyte: not for the stack. */
struct random_changes {
	bool by_time; /* no PSB, but a TSC packet reports each change */
	struct random_change list[RANDOM_CHANGES];
	size_t count;
	uint8_t bytes[RANDOM_CHANGES_BYTES];
	size_t used;
};

/* As random_flow_make_with; *changes is filled in. */
void random_flow_make_changing(struct random_flow *flow, uint64_t seed, size_t steps, unsigned ranges,
			       unsigned features, struct random_changes *changes, bool by_time);

#endif
