/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Steps: an alternative to batches for a consumer that needs few runs of blocks. If the states of the consumer have
 * numbers, and the effects of steps from a state to the next have numbers, the engine can repeat an effect by its
 * number.
 */
#ifndef FLOW_ENGINE_STEP_H
#define FLOW_ENGINE_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "flow/engine/flow.h"

/* The consumer's notes about a run; 0 at first. */
struct flow_step_marks {
	/*
	 * Number of the consumer's home for this run, such as the current function; 0: none. The engine may pass the
	 * run silently while the consumer is at this home. A run that ends with a return is the last run that is
	 * passed.
	 */
	uint32_t home_number;
	uint32_t tag; /* tag by which the consumer recognises the run */
};

/*
 * A run of blocks, and the sums of the runs passed since the previous step. A step without a run only has the passed
 * runs, and ends a row of steps.
 */
struct flow_step {
	const struct flow_block_run *run;    /* completely executed run; NULL: only passed runs */
	const struct flow_block_run *passed; /* last run passed since the previous step; NULL: no run was passed */
	bool returned;                       /* `passed` ended with a return */
	uint64_t instructions;               /* instructions of all runs passed since the previous step */
	uint64_t time;                       /* time of the run; without a run, time of the last run; 0 unknown */
	struct flow_step_marks *marks;       /* marks of the run */
};

/* ---- effects ---------------------------------------------------------------------------------------------- */

/*
 * Counts of repeated effects. The engine only counts. The consumer owns the memory, and knows the contribution of each
 * effect to its sums.
 */
struct flow_step_effects {
	uint32_t *counts; /* by effect: number of repetitions; 0: the effect is not in `order` */
	uint32_t *order;  /* effects in the order of their first count, together with other entries of the consumer */
	uint32_t count;   /* number of entries in `order`, which has room for one more than the maximum */
};

#define FLOW_STEP_EFFECT (1u << 31) /* flag of an entry in `order`: the entry is an effect */

/* Counts a repetition of the effect. Returns false if the count would overflow. */
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

/* A consumer whose states have numbers from 1 on. The functions take the context of the steps. */
struct flow_step_states {
	struct flow_step_effects *effects;
	const uint32_t *generation; /* changes when the numbers of states and effects become invalid */
	/*
	 * Takes the passed runs (the step has no run), and returns the number of the consumer's state; 0: the state has
	 * no number. If effect is not NULL, *effect becomes the number of the effect of all steps since `go`; 0: the
	 * effect cannot be repeated.
	 */
	uint32_t (*state)(void *context, const struct flow_step *passed, uint32_t *effect);
	/* Moves the consumer to the state. The next effect begins here. Returns the home, as a step does. */
	uint32_t (*go)(void *context, uint32_t state);
	/*
	 * Sets the time of the following repeated effects. state: the consumer's state. Returns 0; 1: steps are needed
	 * instead; negative: ends the decoding.
	 */
	int (*tick)(void *context, uint32_t state, uint64_t time);
	/*
	 * Replaces counts and tick, for a consumer whose effects depend on their order. Repeats one effect, at a time.
	 * Returns 0; 1: steps are needed instead; negative: ends the decoding.
	 */
	int (*again)(void *context, uint32_t effect, uint64_t time);
};

#endif
