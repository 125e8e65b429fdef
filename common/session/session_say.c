/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages about running sessions. */
#include "common/session/session_say.h"

#include <inttypes.h>

#include "common/plural.h"
#include "common/program/message.h"
#include "common/session/session_folder.h"

#define SAY_AFTER (20u * COMMON_SESSION_PAUSE)

void common_session_say_waiting(const char *name, uint64_t waited)
{
	if (waited != SAY_AFTER)
		return;
	common_message_warning("session %s does not answer: its recorder is stopped, or busy; waiting for it", name);
	common_message_hint("Ctrl-C ends the wait; SIGCONT continues a recorder that was stopped");
}

void common_session_say_missed(uint64_t events)
{
	if (events)
		common_message_warning("missed %" PRIu64 " " COMMON_PLURAL(
					       "event", "events") ": the session went on faster than they were read",
				       events);
}
