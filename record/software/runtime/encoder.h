/* SPDX-License-Identifier: BSD-2-Clause */
/* The packet encoder: from the blocks a thread enters to Intel PT packets in its ring. */

#ifndef RECORD_SOFTWARE_RUNTIME_ENCODER_H
#define RECORD_SOFTWARE_RUNTIME_ENCODER_H

#include <stdbool.h>
#include <stdint.h>

#include "record/channel/shared/channel.h"

/* TNT bits are gathered until there are as many as the long TNT packet holds: then the stop bit is
 * at the top. */
#define RUNTIME_TNT_FULL (1ull << 47)

/* No step writes more bytes than this, so room for it is made sure of between steps. */
#define RUNTIME_STEP_MAX 512u

_Static_assert(RUNTIME_STEP_MAX <= CHANNEL_PT_SLACK, "a step that begins before the ring's end fits into the slack");

/*
 * The packets of one step from block to block (or out of user mode, or into it). They are written
 * at the cursor and become part of the stream, all of them at once, with runtime_step_commit().
 */
struct runtime_step {
	struct channel_slot *slot;
	const struct channel_config *config;
	uint8_t *at;
	uint64_t tnt; /* pending bits below a stop bit */
};

/*
 * Prepares a slot: an empty stream at position 0 in the ring at `ring`, packets disabled, nothing
 * due but the first PSB. All other fields of the encoder are zeroed.
 */
void runtime_encoder_start(struct channel_slot *slot, const struct channel_config *config, uint8_t *ring);

/* The thread's clock, ns; never less than the last time the stream has shown. */
uint64_t runtime_encoder_now(struct channel_slot *slot, const struct channel_config *config);

/*
 * Begins a step. In MTC and CYC mode it writes the time packets that precede the step's first
 * packet when that is written.
 */
struct runtime_step runtime_step_begin(struct channel_slot *slot, const struct channel_config *config);

/* Adds a TNT bit; writes a packet if that makes enough of them. */
void runtime_step_tnt(struct runtime_step *step, bool taken);

/* Write the packet, and before it the pending TNT bits. */
void runtime_step_tip(struct runtime_step *step, uint64_t ip);
void runtime_step_fup(struct runtime_step *step, uint64_t ip);
void runtime_step_pgd(struct runtime_step *step);              /* no address: what follows is not in user mode */
void runtime_step_pge(struct runtime_step *step, uint64_t ip); /* and the time, as the timing mode wants it */

/* Writes the pending TNT bits, if any. */
void runtime_step_flush(struct runtime_step *step);

/* Position in the stream of the next byte the step will write. */
uint64_t runtime_step_position(const struct runtime_step *step);

/*
 * Writes PSB, TSC, TMA, CBR, MODE.Exec, FUP, PSBEND, as far as the mode has them; `time` is what
 * the TSC shows and ip the block that begins here, 0 if packets are disabled. Empties the return
 * stack.
 */
void runtime_step_psb(struct runtime_step *step, uint64_t time, uint64_t ip);

/* Ends the step: writes the pending TNT bits and gives all to the recorder. */
void runtime_step_commit(struct runtime_step *step);

/* Moves what lies in the slack to the start of the ring, if the end of the ring was passed. */
void runtime_encoder_wrap(struct channel_slot *slot, const struct channel_config *config);

/* Sets pt_limit from the next PSB, the end of the lap and the bytes the consumer has freed. */
void runtime_encoder_set_limit(struct channel_slot *slot, const struct channel_config *config);

/* True if a step and a PSB fit into the ring without touching bytes not yet consumed. */
bool runtime_encoder_has_room(const struct channel_slot *slot, const struct channel_config *config);

#endif
