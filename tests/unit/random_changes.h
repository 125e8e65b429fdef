/* SPDX-License-Identifier: BSD-2-Clause */
/* Random programs whose code changes during the run, as by JIT compilers and loaders. */
#ifndef TESTS_UNIT_RANDOM_CHANGES_H
#define TESTS_UNIT_RANDOM_CHANGES_H

#include "tests/unit/random_flow.h"

#define RANDOM_CHANGES 1024
#define RANDOM_CHANGES_BYTES (1u << 20)

/* Bytes that are valid from the time of a PSB or a TSC on. */
struct random_change {
	size_t at;            /* position of the PSB; unused for changes by time */
	uint64_t clock;       /* clock at the change */
	uint32_t first, size; /* offsets in the code */
	uint32_t bytes;       /* offset in random_changes */
	bool load;            /* reported by an image load; else by a code event */
};

/* About 1 MiB: too large for the stack. */
struct random_changes {
	bool by_time; /* a TSC packet, instead of a PSB, reports each change */
	struct random_change list[RANDOM_CHANGES];
	size_t count;
	uint8_t bytes[RANDOM_CHANGES_BYTES];
	size_t used;
};

/* As random_flow_make_with; *changes is filled in. */
void random_flow_make_changing(struct random_flow *flow, uint64_t seed, size_t steps, unsigned ranges,
			       unsigned features, struct random_changes *changes, bool by_time);

#endif
