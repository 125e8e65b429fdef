/* SPDX-License-Identifier: BSD-2-Clause */
/* Looking at the traced program: its registers, its memory, and the signal frames on its stack. */

#ifndef RECORD_QEMU_PLUGIN_GUEST_H
#define RECORD_QEMU_PLUGIN_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/qemu/plugin/block.h"

/* Guest registers as QEMU 7.2's CPUX86State begins with them; up to date at the start of a block.
 */
enum plugin_register {
	PLUGIN_RAX,
	PLUGIN_RCX,
	PLUGIN_RDX,
	PLUGIN_RBX,
	PLUGIN_RSP,
	PLUGIN_RBP,
	PLUGIN_RSI,
	PLUGIN_RDI,
	PLUGIN_R8,
	PLUGIN_R9,
	PLUGIN_R10,
	PLUGIN_R11,
	PLUGIN_R12,
	PLUGIN_R13,
	PLUGIN_R14,
	PLUGIN_R15,
	PLUGIN_RIP,
};

uint64_t plugin_guest_register(const uint8_t *env, enum plugin_register which);

/* Copies guest memory, whose addresses are the host's. False if not all of it can be read. Never
 * faults. */
bool plugin_guest_read(uint64_t address, void *bytes, size_t size);

/*
 * Copies a string with its NUL into a buffer of `size` bytes. Returns its length, or -EFAULT, or
 * -ENAMETOOLONG if it did not fit.
 */
int plugin_guest_read_string(uint64_t address, char *text, size_t size);

/* The highest signal number. */
#define PLUGIN_SIGNAL_MAX 64

/* What the program last asked for with rt_sigaction. */
struct plugin_signal_action {
	uint64_t handler;
	uint64_t flags;
	uint64_t restorer; /* where the handler returns to */
};

/* What a signal frame says. */
struct plugin_signal {
	uint64_t interrupted; /* the address at which the program goes on when the handler returns */
	int number;
	bool synchronous; /* a fault or trap of the instruction there or just before */
};

/* The registers a handler is entered with. */
struct plugin_handler_entry {
	uint64_t rsp;
	uint64_t rdi;
	uint64_t rsi;
	uint64_t rdx;
};

/*
 * True if a thread that starts at a signal handler with these registers does so because QEMU has
 * just delivered a signal: there is a frame at the stack pointer that fits them. If several signals
 * were delivered before the program ran on, this is the first of them: the one that interrupted the
 * program itself. `actions` has PLUGIN_SIGNAL_MAX + 1 entries, `table` knows all handlers there ever
 * were.
 */
bool plugin_guest_signal(const struct plugin_handler_entry *entry, const struct plugin_signal_action *actions,
			 const struct plugin_block_table *table, struct plugin_signal *signal);

/* True for the signals that instructions cause. */
bool plugin_is_fault_signal(int number);

#endif
