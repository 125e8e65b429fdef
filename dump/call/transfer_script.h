/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scripts: lists of transfers that steps have added. If the engine finds the same steps again, the script is added
 * again: see struct flow_step_states. Owned by a worker. Only for code that finds transfers.
 */
#ifndef DUMP_CALL_TRANSFER_SCRIPT_H
#define DUMP_CALL_TRANSFER_SCRIPT_H

#include "common/number_table.h"
#include "dump/call/transfer.h"

/* State of a tracker between steps. */
struct dump_script_state {
	uint64_t behind;
	uint32_t home_number;
	uint32_t branch;
};

struct dump_script {
	uint32_t first; /* index of its first transfer in the list */
	uint32_t count;
	uint32_t rest; /* instructions after the last transfer; without transfers: all */
};

/* Zero-initialised: empty. Numbers count from 1. */
struct dump_scripts {
	uint32_t process;
	uint32_t generation; /* changes when numbers become invalid */
	struct dump_script_state *states;
	uint32_t state_count, state_capacity; /* includes number 0 */
	struct common_number_table state_numbers;
	struct dump_script *scripts;
	uint32_t count, capacity; /* includes number 0 */
	struct dump_transfer *list;
	uint32_t list_count, list_capacity;
};

void dump_scripts_free(struct dump_scripts *scripts);
/* Prepares for flow of the process: forgets scripts of other processes. */
void dump_scripts_begin(struct dump_scripts *scripts, uint32_t process);
/* Functions for struct flow_step_states, for a consumer of transfers. */
uint32_t dump_scripts_state(struct dump_scripts *scripts, struct dump_transfers *transfers,
			    struct dump_tracker *tracker, const struct flow_step *passed, uint32_t *effect);
uint32_t dump_scripts_go(struct dump_scripts *scripts, struct dump_transfers *transfers, struct dump_tracker *tracker,
			 uint32_t state);
int dump_scripts_again(const struct dump_scripts *scripts, struct dump_transfers *transfers,
		       struct dump_tracker *tracker, uint32_t number, uint64_t time);

#endif
