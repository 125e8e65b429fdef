/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Steps: what a consumer that needs few runs of blocks is given instead of batches. Where its states have numbers, and so
 * has all that steps do to it from one to another, an engine can do to it again what it has seen done.
 */
#ifndef FLOW_ENGINE_STEP_H
#define FLOW_ENGINE_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "flow/engine/flow.h"

/* What the consumer of steps notes of a run; 0 at first. */
struct flow_step_marks {
	/* The run may be passed where the consumer is at this home. One that ends with a return is the last that is passed. */
	uint32_t home;
	uint32_t tag; /* to know it again */
};

/*
 * A run of blocks, with all that was passed since the step before. A step whose run is NULL only has what was passed, and
 * ends a row of steps.
 */
struct flow_step {
	const struct flow_block_run *run;    /* all of it was executed */
	const struct flow_block_run *passed; /* the last run that was passed since; NULL: none was */
	bool returned;                       /* that ended with a return */
	uint64_t instructions;               /* of all that were passed since */
	uint64_t time;                       /* of the run; without one, of the last run before; 0 unknown */
	struct flow_step_marks *marks;       /* of the run */
};

/* ---- effects ---------------------------------------------------------------------------------------------- */

/* How often effects were done again: the engine only counts. They are the consumer's, which knows what each adds to its sums. */
struct flow_step_effects {
	uint32_t *counts; /* by effect; 0: not in `order` */
	uint32_t *order;  /* effects in the order in which they were first counted, and what else the consumer meets */
	uint32_t count;   /* in order, which has room for one more than there may be */
};

#define FLOW_STEP_EFFECT (1u << 31) /* of what is in order: it is an effect */

/* False: that is too often. */
static inline bool flow_step_count(struct flow_step_effects *effects, uint32_t effect)
{
	uint32_t *count = &effects->counts[effect];

	if (__builtin_expect(*count == UINT32_MAX, 0))
		return false;
	effects->order[effects->count] = effect | FLOW_STEP_EFFECT;
	effects->count += !*count;
	++*count;
	return true;
}

/* ---- states ----------------------------------------------------------------------------------------------- */

/* A consumer whose states have numbers from 1 on. Its context is that of its steps. */
struct flow_step_states {
	struct flow_step_effects *effects;
	const uint32_t *generation; /* changes where numbers of states and effects become others */
	/*
	 * Takes what was passed (the step has no run), and tells the state that the consumer is in; 0: it has no number. Where it is
	 * asked for the effect of all since the state that it was told to go to, that has a number, too; 0: it cannot be done again.
	 */
	uint32_t (*state)(void *context, const struct flow_step *passed, uint32_t *effect);
	/* Goes to the state, from which the next effect counts; returns the home there, as a step does. */
	uint32_t (*go)(void *context, uint32_t state);
	/*
	 * What is added next, and was not given as steps, is of this time. The consumer is in that state. 0; 1: steps must be
	 * given instead; negative: ends the decoding.
	 */
	int (*tick)(void *context, uint32_t state, uint64_t time);
	/*
	 * Instead of counts and tick, for a consumer whose effects depend on their order: does one again, at a time. 0; 1: steps must
	 * be given instead; negative: ends the decoding.
	 */
	int (*again)(void *context, uint32_t effect, uint64_t time);
};

#endif
