/* SPDX-License-Identifier: BSD-2-Clause */
/* Looking at the traced program: its registers, its memory, and the signal frames on its stack. */

#ifndef PTL_RECORD_QEMU_PLUGIN_GUEST_H
#define PTL_RECORD_QEMU_PLUGIN_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/qemu/plugin/block.h"

/* Guest registers as QEMU 7.2's CPUX86State begins with them; up to date at the start of a block.
 */
enum pq_register {
	PQ_RAX,
	PQ_RCX,
	PQ_RDX,
	PQ_RBX,
	PQ_RSP,
	PQ_RBP,
	PQ_RSI,
	PQ_RDI,
	PQ_R8,
	PQ_R9,
	PQ_R10,
	PQ_R11,
	PQ_R12,
	PQ_R13,
	PQ_R14,
	PQ_R15,
	PQ_RIP,
};

uint64_t pq_guest_register(const uint8_t *env, enum pq_register which);

/* Copies guest memory, whose addresses are the host's. False if not all of it can be read. Never
 * faults. */
bool pq_guest_read(uint64_t address, void *bytes, size_t size);

/*
 * Copies a string with its NUL into a buffer of `size` bytes. Returns its length, or -EFAULT, or
 * -ENAMETOOLONG if it did not fit.
 */
int pq_guest_read_string(uint64_t address, char *text, size_t size);

/* The highest signal number. */
#define PQ_SIGNAL_MAX 64

/* What the program last asked for with rt_sigaction. */
struct pq_signal_action {
	uint64_t handler;
	uint64_t flags;
	uint64_t restorer; /* where the handler returns to */
};

/* What a signal frame says. */
struct pq_signal {
	uint64_t
		interrupted; /* the address at which the program goes on when the handler returns */
	int number;
	bool synchronous; /* a fault or trap of the instruction there or just before */
};

/* The registers a handler is entered with. */
struct pq_handler_entry {
	uint64_t rsp;
	uint64_t rdi;
	uint64_t rsi;
	uint64_t rdx;
};

/*
 * True if a thread that starts at a signal handler with these registers does so because QEMU has
 * just delivered a signal: there is a frame at the stack pointer that fits them. If several signals
 * were delivered before the program ran on, this is the first of them: the one that interrupted the
 * program itself. `actions` has PQ_SIGNAL_MAX + 1 entries, `table` knows all handlers there ever
 * were.
 */
bool pq_guest_signal(const struct pq_handler_entry *entry, const struct pq_signal_action *actions,
		     const struct pq_block_table *table, struct pq_signal *signal);

/* True for the signals that instructions cause. */
bool pq_is_fault_signal(int number);

#endif
