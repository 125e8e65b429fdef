/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of the vsyscall page. The page is not readable, and its instructions are never executed: the kernel carries out
 * the call at the fault and returns to the caller.
 */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "record/software/runtime/runtime.h"

#define PAGE 0xffffffffff600000ull
#define ENTRY_SIZE 1024 /* bytes from one entry of the page to the next */

/* Returns whether this kernel has the page. */
static bool has_page(void)
{
	static int known; /* 0: unknown, 1: the page exists, -1: no page */
	struct runtime_map *map;

	if (known)
		return known > 0;
	map = runtime_map(sizeof(*map), PROT_READ | PROT_WRITE, 0, true);
	if (!map)
		return false;
	known = runtime_maps_find(PAGE, map) ? 1 : -1;
	RUNTIME_CALL(SYS_munmap, map, sizeof(*map));
	return known > 0;
}

bool runtime_call_vsyscall(struct runtime_thread *thread)
{
	static const uint16_t calls[] = {SYS_gettimeofday, SYS_time, SYS_getcpu};
	const uint64_t offset = thread->pc - PAGE;
	uint64_t caller;

	if (offset % ENTRY_SIZE || offset / ENTRY_SIZE >= sizeof(calls) / sizeof(calls[0]) || !has_page() ||
	    !runtime_copy(&caller, (const void *)thread->regs[RSP], sizeof(caller)))
		return false;
	runtime_interrupt(thread, false);
	thread->regs[RAX] = (uint64_t)RUNTIME_CALL(calls[offset / ENTRY_SIZE], thread->regs[RDI], thread->regs[RSI], 0);
	thread->regs[RSP] += sizeof(caller);
	thread->pc = caller;
	return true;
}
