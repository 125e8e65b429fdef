/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Streams of virtual CPUs (--per-cpu). Threads have turns on a CPU, which are numbered; the recorder takes packets thread
 * by thread, and puts those of a turn into the CPU's stream when those of all turns before are there.
 */
#ifndef RECORD_QEMU_CPUS_H
#define RECORD_QEMU_CPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/capture/capture.h"
#include "record/qemu/channel.h"

struct record_qemu_turn;

struct record_qemu_cpus {
	struct record_capture *capture;
	struct record_qemu_cpu *list[QEMU_CPUS_MAX]; /* NULL: not used yet */
	uint64_t waiting;                            /* bytes of turns that wait for others */
};

void record_qemu_cpus_free(struct record_qemu_cpus *cpus);

/* All functions that return an int return 0 or PTL_NO_MEMORY. */

/* A thread's turn begins. *turn is NULL where there can be no such turn, which is the sender's fault. */
int record_qemu_turn_begin(struct record_qemu_cpus *cpus, const struct qemu_message_cpu *message,
			   struct record_qemu_turn **turn);
/* Packets of it, in order, and a PSB at a position in them. */
int record_qemu_turn_bytes(struct record_qemu_cpus *cpus, struct record_qemu_turn *turn, const void *data, size_t size,
			   uint64_t time);
int record_qemu_turn_psb(struct record_qemu_cpus *cpus, struct record_qemu_turn *turn, uint64_t position,
			 uint64_t time);
/* All of it is there; the turn is not to be used any more. */
int record_qemu_turn_end(struct record_qemu_cpus *cpus, struct record_qemu_turn *turn, uint64_t time);
/* A turn that was taken, of which nothing was heard: its thread was killed. */
int record_qemu_turn_skip(struct record_qemu_cpus *cpus, uint32_t cpu, uint64_t number);

/* Nothing more comes: what waits for turns that are missing waits no longer. */
int record_qemu_cpus_finish(struct record_qemu_cpus *cpus);

#endif
