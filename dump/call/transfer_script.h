/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The transfers that steps have led to, which are put again where the engine finds that the same steps come again: see
 * struct flow_step_states. Of one worker. For those who find transfers alone.
 */
#ifndef DUMP_CALL_TRANSFER_SCRIPT_H
#define DUMP_CALL_TRANSFER_SCRIPT_H

#include "common/number_table.h"
#include "dump/call/transfer.h"

/* Where a tracker may stand between steps. */
struct dump_script_state {
	uint64_t behind;
	uint32_t home;
	uint32_t branch;
};

struct dump_script {
	uint32_t first; /* of its transfers in the list */
	uint32_t count;
	uint32_t rest; /* instructions behind the last of them; without any, all */
};

/* Zero-initialised is empty. Numbers count from 1. */
struct dump_scripts {
	uint32_t process;
	uint32_t generation; /* changes where numbers become others */
	struct dump_script_state *states;
	uint32_t state_count, state_capacity; /* with number 0 */
	struct common_number_table state_numbers;
	struct dump_script *scripts;
	uint32_t count, capacity; /* with number 0 */
	struct dump_transfer *list;
	uint32_t list_count, list_capacity;
};

void dump_scripts_free(struct dump_scripts *scripts);
/* What comes is of the process: forgets scripts of others. */
void dump_scripts_begin(struct dump_scripts *scripts, uint32_t process);
/* These are the states of a consumer of transfers, see flow_step_states. */
uint32_t dump_scripts_state(struct dump_scripts *scripts, struct dump_transfers *transfers,
			    struct dump_tracker *tracker, const struct flow_step *passed, uint32_t *effect);
uint32_t dump_scripts_go(struct dump_scripts *scripts, struct dump_transfers *transfers, struct dump_tracker *tracker,
			 uint32_t state);
int dump_scripts_again(const struct dump_scripts *scripts, struct dump_transfers *transfers,
		       struct dump_tracker *tracker, uint32_t number, uint64_t time);

#endif
