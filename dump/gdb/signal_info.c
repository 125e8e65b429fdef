/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes siginfo_t of x86-64. */
#include "dump/gdb/signal_info.h"

#include <string.h>

/* offsets in siginfo_t */
#define SIGNAL_AT 0u
#define CODE_AT 8u
#define DETAIL_AT 16u /* si_addr, or si_pid */

bool dump_gdb_signal_info(const struct dump_gdb_thread *thread, uint8_t info[DUMP_GDB_SIGNAL_INFO_BYTES])
{
	const struct flow_fatal_signal *fatal = &thread->fatal;

	if (!thread->signal || !fatal->signal)
		return false;
	memset(info, 0, DUMP_GDB_SIGNAL_INFO_BYTES);
	common_store_le(info + SIGNAL_AT, fatal->signal, 4);
	common_store_le(info + CODE_AT, (uint32_t)fatal->code, 4);
	if (fatal->has_address)
		common_store_le(info + DETAIL_AT, fatal->address, 8);
	else
		common_store_le(info + DETAIL_AT, fatal->sender, 4);
	return true;
}
