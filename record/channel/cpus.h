/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Streams of virtual CPUs (--per-cpu). Threads take numbered turns on a CPU. The recorder drains packets thread by
 * thread, and writes a turn's packets into the CPU's stream after all packets of earlier turns.
 */
#ifndef RECORD_CHANNEL_CPUS_H
#define RECORD_CHANNEL_CPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/capture/capture.h"
#include "record/channel/channel.h"

struct record_channel_turn;

struct record_channel_cpus {
	struct record_capture *capture;
	struct record_channel_cpu *list[CHANNEL_CPUS_MAX]; /* NULL before the first use */
	uint64_t waiting;                                  /* bytes of turns that wait for earlier turns */
};

void record_channel_cpus_free(struct record_channel_cpus *cpus);

/* Functions of type int return 0 or PTL_NO_MEMORY. */

/* Begins a thread's turn. *turn: set to NULL for an impossible turn, which a faulty sender reported. */
int record_channel_turn_begin(struct record_channel_cpus *cpus, const struct channel_message_cpu *message,
			      struct record_channel_turn **turn);
/* Adds packets, or a PSB at a position in the packets, to the turn. */
int record_channel_turn_bytes(struct record_channel_cpus *cpus, struct record_channel_turn *turn, const void *data,
			      size_t size, uint64_t time);
int record_channel_turn_psb(struct record_channel_cpus *cpus, struct record_channel_turn *turn, uint64_t position,
			    uint64_t time);
/* Ends a complete turn. The caller uses the turn no more. */
int record_channel_turn_end(struct record_channel_cpus *cpus, struct record_channel_turn *turn, uint64_t time);
/* Skips a turn without any report: its thread was killed. */
int record_channel_turn_skip(struct record_channel_cpus *cpus, uint32_t cpu, uint64_t number);

/* Ends all streams: gives up missing turns, and writes all waiting packets. */
int record_channel_cpus_finish(struct record_channel_cpus *cpus);

#endif
