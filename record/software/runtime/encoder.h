/* SPDX-License-Identifier: BSD-2-Clause */
/* The packet encoder: writes Intel PT packets for the blocks of a thread into the ring of the thread. */

#ifndef RECORD_SOFTWARE_RUNTIME_ENCODER_H
#define RECORD_SOFTWARE_RUNTIME_ENCODER_H

#include <stdbool.h>
#include <stdint.h>

#include "record/channel/shared/channel.h"

/* TNT word with as many bits as a long TNT packet holds; the stop bit is on top. */
#define RUNTIME_TNT_FULL (1ull << 47)

/* maximal bytes of a step; the caller ensures this much room between steps */
#define RUNTIME_STEP_MAX 512u

_Static_assert(RUNTIME_STEP_MAX <= CHANNEL_PT_SLACK, "a step that begins before the ring's end fits into the slack");

/*
 * The packets of one step: from block to block, out of user mode, or into user mode. Packets are written at the cursor;
 * runtime_step_commit() adds all of them to the stream at once.
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

/* Returns the thread's clock in ns, at least the last time in the stream. */
uint64_t runtime_encoder_now(struct channel_slot *slot, const struct channel_config *config);

/* Begins a step. In MTC and CYC mode, the step's first packet is preceded by timing packets. */
struct runtime_step runtime_step_begin(struct channel_slot *slot, const struct channel_config *config);

/* Adds a TNT bit; writes a TNT packet if the packet is then full. */
void runtime_step_tnt(struct runtime_step *step, bool taken);

/* Write the pending TNT bits and the packet. */
void runtime_step_tip(struct runtime_step *step, uint64_t ip);
void runtime_step_fup(struct runtime_step *step, uint64_t ip);
void runtime_step_pgd(struct runtime_step *step);              /* without address: user mode is left */
void runtime_step_pge(struct runtime_step *step, uint64_t ip); /* also the time, depending on the timing mode */

/* Writes the pending TNT bits, if any. */
void runtime_step_flush(struct runtime_step *step);

/* Returns the stream position of the step's next byte. */
uint64_t runtime_step_position(const struct runtime_step *step);

/*
 * Writes PSB, TSC, TMA, CBR, MODE.Exec, FUP, PSBEND, as the timing mode requires. time: value of the TSC. ip: address
 * of the next block; NULL if packets are disabled. Empties the return stack.
 */
void runtime_step_psb(struct runtime_step *step, uint64_t time, const uint64_t *ip);

/*
 * Writes that the program stands at ip, and the full time at which execution goes on. number: operand of a PTWRITE packet,
 * which lies behind the plain instruction at ip; NULL: EXSTOP, before the instruction. Returns a time before that time,
 * not before any earlier packet's.
 */
uint64_t runtime_step_stand(struct runtime_step *step, uint64_t ip, const uint32_t *number);

/* Ends the step: writes the pending TNT bits and makes all packets visible to the recorder. */
void runtime_step_commit(struct runtime_step *step);

/* Moves the bytes in the slack to the start of the ring if the stream has passed the end. */
void runtime_encoder_wrap(struct channel_slot *slot, const struct channel_config *config);

/* Sets pt_limit from the position of the next PSB, the end of the ring, and the bytes freed by the recorder. */
void runtime_encoder_set_limit(struct channel_slot *slot, const struct channel_config *config);

/* Returns whether a step and a PSB fit into the ring without overwriting unread bytes. */
bool runtime_encoder_has_room(const struct channel_slot *slot, const struct channel_config *config);

#endif
