/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scripts: lists of transfers that steps have added. If the engine finds the same steps again, the script is added
 * again: see struct flow_step_states. Owned by a worker. Only for code that finds transfers.
 */
#ifndef ANALYSIS_CALL_TRANSFER_SCRIPT_H
#define ANALYSIS_CALL_TRANSFER_SCRIPT_H

#include "analysis/call/transfer.h"
#include "common/number_table.h"

/* State of a tracker between steps. */
struct analysis_script_state {
	uint64_t behind;
	uint32_t home_number;
	uint32_t branch;
};

struct analysis_script {
	uint32_t first; /* index of its first transfer in the list */
	uint32_t count;
	uint32_t rest; /* instructions after the last transfer; without transfers: all */
};

/* Zero-initialised: empty. Numbers count from 1. */
struct analysis_scripts {
	uint32_t process;
	uint32_t generation; /* changes when numbers become invalid */
	struct analysis_script_state *states;
	uint32_t state_count, state_capacity; /* includes number 0 */
	struct common_number_table state_numbers;
	struct analysis_script *scripts;
	uint32_t count, capacity; /* includes number 0 */
	struct analysis_transfer *list;
	uint32_t list_count, list_capacity;
};

void analysis_scripts_free(struct analysis_scripts *scripts);
/* Prepares for flow of the process: forgets scripts of other processes. */
void analysis_scripts_begin(struct analysis_scripts *scripts, uint32_t process);
/* Functions for struct flow_step_states, for a consumer of transfers. */
uint32_t analysis_scripts_state(struct analysis_scripts *scripts, struct analysis_transfers *transfers,
				struct analysis_tracker *tracker, const struct flow_step *passed, uint32_t *effect);
uint32_t analysis_scripts_go(struct analysis_scripts *scripts, struct analysis_transfers *transfers,
			     struct analysis_tracker *tracker, uint32_t state);
int analysis_scripts_again(const struct analysis_scripts *scripts, struct analysis_transfers *transfers,
			   struct analysis_tracker *tracker, uint32_t number, uint64_t time);

#endif
