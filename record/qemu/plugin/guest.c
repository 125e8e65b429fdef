/* SPDX-License-Identifier: BSD-2-Clause */
/* Looking at the traced program: its registers, its memory, and the signal frames on its stack. */

#include "record/qemu/plugin/guest.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/*
 * The x86-64 signal frame, as the kernel defines it and QEMU makes it. At the handler's first
 * instruction RSP is at `pretcode`, RDI is the signal number, RSI the address of the siginfo, RDX
 * that of the ucontext.
 */
struct signal_frame {
	uint64_t pretcode; /* where the handler returns to */
	uint64_t uc_flags;
	uint64_t uc_link;
	uint64_t uc_stack[3];
	uint64_t registers[18]; /* R8 to R15, RDI, RSI, RBP, RBX, RDX, RAX, RCX, RSP, RIP, flags */
};

#define FRAME_RDI 8
#define FRAME_RSI 9
#define FRAME_RDX 12
#define FRAME_RSP 15
#define FRAME_RIP 16
#define UCONTEXT_OFFSET offsetof(struct signal_frame, uc_flags)

/* More deliveries at once than there are signals do not happen. */
#define NESTED_MAX 64

uint64_t plugin_guest_register(const uint8_t *env, enum plugin_register which)
{
	uint64_t value;

	memcpy(&value, env + (size_t)which * sizeof(value), sizeof(value));
	return value;
}

bool plugin_guest_read(uint64_t address, void *bytes, size_t size)
{
	struct iovec local = {bytes, size};
	struct iovec remote = {(void *)address, size};

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
}

int plugin_guest_read_string(uint64_t address, char *text, size_t size)
{
	size_t length = 0;

	while (length < size) {
		/* Not across a page's end: the next page may not be there. */
		size_t piece = 4096 - (address + length) % 4096;

		if (piece > size - length)
			piece = size - length;
		if (!plugin_guest_read(address + length, text + length, piece))
			return -EFAULT;

		const char *end = memchr(text + length, 0, piece);

		if (end)
			return (int)(end - text);
		length += piece;
	}
	return -ENAMETOOLONG;
}

bool plugin_is_fault_signal(int number)
{
	return number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE || number == SIGTRAP;
}

/*
 * QEMU fills the siginfo in only for handlers that asked for it. For others, a signal that
 * instructions cause is taken to be caused by one: that another process sent it is seen only in the
 * siginfo, whose code is then not positive.
 */
static bool is_synchronous(int number, const struct plugin_signal_action *action, uint64_t address)
{
	siginfo_t info;

	if (!plugin_is_fault_signal(number))
		return false;
	if (!(action->flags & SA_SIGINFO) || !plugin_guest_read(address, &info, sizeof(info)))
		return true;
	return info.si_code > 0;
}

static bool read_frame(const struct plugin_handler_entry *entry, const struct plugin_signal_action *actions,
		       struct signal_frame *frame)
{
	if (entry->rdx != entry->rsp + UCONTEXT_OFFSET || entry->rdi < 1 || entry->rdi > PLUGIN_SIGNAL_MAX ||
	    entry->rsi <= entry->rdx || entry->rsi > entry->rdx + 4096)
		return false;
	return plugin_guest_read(entry->rsp, frame, sizeof(*frame)) && frame->pretcode == actions[entry->rdi].restorer;
}

bool plugin_guest_signal(const struct plugin_handler_entry *entry, const struct plugin_signal_action *actions,
			 const struct plugin_block_table *table, struct plugin_signal *signal)
{
	struct plugin_handler_entry at = *entry;
	struct signal_frame frame;
	int found = 0;

	while (found < NESTED_MAX && read_frame(&at, actions, &frame)) {
		signal->interrupted = frame.registers[FRAME_RIP];
		signal->number = (int)at.rdi;
		signal->synchronous = is_synchronous(signal->number, &actions[at.rdi], at.rsi);
		found++;
		if (!plugin_block_is_handler(table, signal->interrupted))
			break;
		/* It interrupted another handler's start; was that handler's frame just made, too?
		 */
		at = (struct plugin_handler_entry){
			.rsp = frame.registers[FRAME_RSP],
			.rdi = frame.registers[FRAME_RDI],
			.rsi = frame.registers[FRAME_RSI],
			.rdx = frame.registers[FRAME_RDX],
		};
	}
	return found > 0;
}
