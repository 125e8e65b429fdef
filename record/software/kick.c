/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/software/kick.h"

#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/user.h>

#include "record/proc/maps.h"
#include "record/software/shared/tracee.h"

#define STOP_TIME 200u /* milliseconds */
#define NO_CALL ((uint64_t)-1)

/* Makes the stopped thread leave its system call. False: the thread is elsewhere. */
static bool kick(struct channel_slot *slot, pid_t tid)
{
	struct user_regs_struct regs;
	uint64_t number;
	enum runtime_restart restart;

	if (software_trace(PTRACE_GETREGS, tid, 0, (uint64_t)&regs))
		return false;
	software_tracee_mend_call(&regs);
	restart = software_tracee_restart(&regs, &number);
	if (restart == RUNTIME_RESTART_NEVER || regs.rip != slot->kick.behind) {
		/* The call has a result, or belongs to the runtime. */
		software_trace(PTRACE_SETREGS, tid, 0, (uint64_t)&regs);
		return false;
	}
	slot->kick.number = number;
	slot->kick.restart = restart;
	regs.rip = slot->kick.kicked;
	regs.orig_rax = NO_CALL;
	return software_trace(PTRACE_SETREGS, tid, 0, (uint64_t)&regs) == 0;
}

/*
 * Returns whether the process has mapped the arena. The slot's thread id is the program's word; and another process may have
 * the number by now.
 */
static bool has_arena(const struct channel *channel, pid_t tid)
{
	static struct record_map_entry entry;
	struct stat arena;

	return fstat(channel->fd, &arena) == 0 && record_maps_find((uint32_t)tid, &arena, 0, &entry);
}

static bool kick_thread(const struct channel *channel, struct channel_slot *slot, pid_t tid)
{
	bool done;

	if (!has_arena(channel, tid) || !software_tracee_seize(tid, 0, STOP_TIME))
		return false;
	/* The thread may have executed another program before the stop. */
	done = has_arena(channel, tid) && kick(slot, tid);
	software_trace(PTRACE_DETACH, tid, 0, 0);
	return done;
}

/*
 * Returns whether a thread of the process leaves: it was kicked (slots before `index`), or it executes code and notices
 * by itself.
 */
static bool is_leaving(const struct record_channel *channel, uint32_t process)
{
	for (uint32_t i = 0; i < channel_slot_high(&channel->channel); i++) {
		const struct record_channel_slot *state = &channel->slots[i];

		if (state->live && state->process == process && !channel_slot(&channel->channel, i)->kick.waits)
			return true;
	}
	return false;
}

void software_kick_all(const struct record_channel *channel)
{
	uint32_t last = 0; /* last kicked process */

	for (uint32_t i = 0; i < channel_slot_high(&channel->channel); i++) {
		const struct record_channel_slot *state = &channel->slots[i];

		if (state->live && !state->damaged && state->process != last && !is_leaving(channel, state->process) &&
		    kick_thread(&channel->channel, channel_slot(&channel->channel, i), (pid_t)state->tid))
			last = state->process;
	}
}
