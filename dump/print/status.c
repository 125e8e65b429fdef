/* SPDX-License-Identifier: BSD-2-Clause */
/* Words for exit statuses and memory protections. */
#include "dump/print/status.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "common/text/text.h"

const char *dump_signal_name(int32_t status, char room[16])
{
	const char *name;

	if (!WIFSIGNALED(status))
		return NULL;
	name = sigabbrev_np(WTERMSIG(status));
	if (name)
		snprintf(room, 16, "SIG%s", name);
	else
		snprintf(room, 16, "signal %d", WTERMSIG(status));
	return room;
}

void dump_text_exit_status(struct ptl_bytes *text, int32_t status)
{
	char room[16];
	const char *name = dump_signal_name(status, room);

	if (name) {
		common_text_add(text, name);
		if (WCOREDUMP(status))
			common_text_add(text, ", core dumped");
	} else if (WIFEXITED(status)) {
		common_text_format(text, "exit %d", WEXITSTATUS(status));
	} else {
		common_text_format(text, "status 0x%x", (unsigned)status);
	}
}

const char *dump_protection(uint32_t protection, char room[4])
{
	room[0] = protection & PROT_READ ? 'r' : '-';
	room[1] = protection & PROT_WRITE ? 'w' : '-';
	room[2] = protection & PROT_EXEC ? 'x' : '-';
	room[3] = 0;
	return room;
}
