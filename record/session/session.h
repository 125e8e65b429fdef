/* SPDX-License-Identifier: BSD-2-Clause */
/* One recording, from the command's start to the closed file, whatever the source. */
#ifndef RECORD_SESSION_SESSION_H
#define RECORD_SESSION_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "record/capture/capture.h"
#include "record/launch/command.h"
#include "record/kernel/observer.h"
#include "record/provider/providers.h"
#include "record/capture/settings.h"

struct record_session;

/* What a source does in a session, in this order. All that return an int return 0 or a ptl_status. */
struct record_engine {
	/* Completes what the machine record says of the source. */
	void (*describe)(const struct record_settings *settings, struct ptl_machine *machine);
	/* Prepares the source, and sets session->doorbell; may set session->observer. */
	int (*open)(struct record_session *session);
	/* Starts the command and sets session->pid. files: the limit of descriptors it shall have. */
	int (*launch)(struct record_session *session, const struct record_command *command, const struct rlimit *files);
	/* Takes what there is; *work says whether there was anything. */
	int (*step)(struct record_session *session, uint64_t now, bool *work);
	/* Completes what processes that have died left behind; after their ends were reaped. */
	int (*bury)(struct record_session *session);
	/* A child of ours ended. */
	int (*exited)(struct record_session *session, uint32_t pid, uint32_t wait_status);
	/* Sleeps until the doorbell is not `seen` any more, at most this long. */
	void (*sleep)(struct record_session *session, uint32_t seen, unsigned milliseconds);
	/* Recording ends though programs run on. */
	void (*stop)(struct record_session *session);
	/* Takes all that is left; after stop, or when session->alone. */
	int (*finish)(struct record_session *session);
	/*
	 * 0, or the exit status of a source that has not worked, which it has explained: the trace is
	 * of nothing.
	 */
	int (*verdict)(const struct record_session *session);
	/* Why, likely, a program died of this signal here; NULL: nothing that the source knows of. */
	const char *(*likely_cause)(int signal);
	void (*close)(struct record_session *session);
};

struct record_session {
	const struct record_settings *settings;
	const struct record_engine *engine;
	void *state;
	bool has_command;
	struct record_capture capture;
	/* Who tells of processes that are not the engine's; may be the engine's own; NULL: nobody. */
	struct record_observer *observer;
	struct record_observer *own_observer; /* the session's, where the engine has none */
	struct record_providers *providers;   /* NULL: none were asked for */
	uint32_t *doorbell;                   /* the engine's: counted up by signals and by what there is to take */
	pid_t pid;                            /* of the command */
	bool ended;                           /* the command */
	bool alone;                           /* no child, and so no descendant, is left */
	bool stopped;                         /* tracing was ended before the programs did */
	bool leave;                           /* and so shall ptl-record, though the command runs */
	bool timed_out;                       /* --duration is over */
	int wait_status;                      /* of the command */
	uint64_t start;                       /* record_now() */
	uint64_t end_of_command;
	uint64_t progress_shown;
	unsigned interrupts;
	int failure; /* ptl_status: recording ended for want of memory */
};

/*
 * Records with this engine, whose state is the caller's; returns ptl-record's exit status. command:
 * NULL for what runs already.
 */
int record_session(const struct record_engine *engine, const struct record_settings *settings,
		   const struct record_command *command, void *state);

/* ---- session_children.c ---------------------------------------------------------------------- */

/* Takes the wait statuses of children that ended; notes the command's. */
int record_session_reap(struct record_session *session);
/* Does what signals ask for. */
void record_session_signals(struct record_session *session);
/* Ends tracing; the programs run on. */
void record_session_stop(struct record_session *session);
/* Says of which signal the command died, if any, as a shell does. */
void record_session_say_signal(const struct record_session *session);
/* The exit status that stands for the command's end. */
int record_session_exit_status(const struct record_session *session);

#endif
