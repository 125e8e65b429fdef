/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Steps: what a consumer that needs few runs of blocks is given instead of batches. Where its states have numbers, and all
 * that steps do to it is to lead from one to another and to add to sums, an engine can do to it again what it has seen done.
 */
#ifndef FLOW_ENGINE_STEP_H
#define FLOW_ENGINE_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "flow/engine/flow.h"

/*
 * A run of blocks, with all that was passed since the step before. A step whose run is NULL only has what was passed, and
 * ends a row of steps.
 */
struct flow_step {
	const struct flow_block_run *run;    /* all of it was executed */
	const struct flow_block_run *passed; /* the last run that was passed since; NULL: none was */
	uint64_t instructions;               /* of all that were passed since */
	uint64_t time;                       /* of the run; without one, of the last run before; 0 unknown */
	uint32_t *tag;                       /* of the run, 0 at first: the consumer's, to know it again */
	uint32_t *home;                      /* likewise: the run may be passed where the consumer is at this home */
};

/* ---- sums ------------------------------------------------------------------------------------------------- */

/* To be added to the sums of a place. */
struct flow_step_sum {
	uint32_t instructions;
	uint32_t place : 24;
	int32_t calls : 8;
};

#define FLOW_STEP_PLACES (1u << 24) /* places are below */

/* Sums by place, of the turn at hand. They are the consumer's. */
struct flow_step_sums {
	struct flow_step_place {
		uint64_t instructions;
		int64_t calls;
		uint32_t turn; /* not the one at hand: both are 0 */
	} * places;
	uint32_t *order; /* places of this turn in the order in which they were first met; room for all */
	uint32_t count;
	uint32_t turn;
	uint64_t transfers;
};

static inline struct flow_step_place *flow_step_meet(struct flow_step_sums *sums, uint32_t number)
{
	struct flow_step_place *place = &sums->places[number];

	if (__builtin_expect(place->turn != sums->turn, 0)) {
		*place = (struct flow_step_place){.turn = sums->turn};
		sums->order[sums->count++] = number;
	}
	return place;
}

static inline void flow_step_add(struct flow_step_sums *sums, const struct flow_step_sum *sum)
{
	struct flow_step_place *place = flow_step_meet(sums, sum->place);

	place->instructions += sum->instructions;
	place->calls += sum->calls;
}

/* ---- states ----------------------------------------------------------------------------------------------- */

/* What was added since the consumer was in the state before. */
struct flow_step_effect {
	const struct flow_step_sum *list; /* each place once, in the order in which they were met */
	uint32_t count;
	uint32_t transfers;
	bool known; /* false: this, or something else, cannot be done again */
};

/* A consumer whose states have numbers from 1 on. Its context is that of its steps. */
struct flow_step_states {
	struct flow_step_sums *sums; /* place 0 has been met in each turn */
	const uint32_t *generation;  /* changes where numbers and places become others */
	/*
	 * Takes what was passed (the step has no run), and tells the state that the consumer is in; 0: it has no number.
	 */
	uint32_t (*state)(void *context, const struct flow_step *passed, struct flow_step_effect *effect);
	/* Goes to the state, from which the next effect counts; returns the home there, as a step does. */
	uint32_t (*go)(void *context, uint32_t state);
	/*
	 * What is added next, and was not given as steps, is of this time. The consumer is in that state. 0; 1: steps must be
	 * given instead; negative: ends the decoding.
	 */
	int (*tick)(void *context, uint32_t state, uint64_t time);
	/*
	 * Instead of sums and tick, for a consumer whose effects depend on their order: each is one sum, of which only the place
	 * counts, and is done again by this, at a time. 0; 1: steps must be given instead; negative: ends the decoding.
	 */
	int (*again)(void *context, uint32_t place, uint64_t time);
};

#endif
