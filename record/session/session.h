/* SPDX-License-Identifier: BSD-2-Clause */
/* One recording, from the command's start to the closed file, whatever the source. */
#ifndef RECORD_SESSION_SESSION_H
#define RECORD_SESSION_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "record/capture/capture.h"
#include "record/capture/settings.h"
#include "record/launch/command.h"
#include "record/session/source.h"
#include "record/session/wait.h"

#define RECORD_SOURCES_MAX 6 /* in one session */

struct record_observer;

/* A source of the session, and its state. */
struct record_running {
	const struct record_source *source;
	void *state;
};

struct record_session {
	const struct record_settings *settings;
	struct record_running running[RECORD_SOURCES_MAX]; /* open sources, the main one first */
	size_t running_count;
	const char *path; /* of the trace, as the user gave it; at the end, of the last file */
	char last[4096];  /* which may be this one of a series */
	bool has_command;
	struct record_capture capture;
	struct record_wait wait;
	/* Who reports processes that run natively, for sources that come across them; NULL: nobody. */
	struct record_observer *observer;
	pid_t pid;       /* of the command */
	bool ended;      /* the command */
	bool alone;      /* no child, and so no descendant, is left */
	bool stopped;    /* tracing was ended before the programs did */
	bool leave;      /* and so shall ptl-record, though the command runs */
	bool timed_out;  /* --duration is over */
	int wait_status; /* of the command */
	uint64_t start;  /* record_now() */
	uint64_t end_of_command;
	uint64_t progress_shown;
	unsigned interrupts;
	int failure; /* ptl_status: recording ended for lack of memory */
};

/*
 * Records settings->command, or what runs already, with these sources, of which NULL is the end; returns ptl-record's
 * exit status, and has said on stderr what went wrong.
 */
int record_session(const struct record_source *const *sources, const struct record_settings *settings);

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
