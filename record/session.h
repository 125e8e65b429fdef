/* SPDX-License-Identifier: BSD-2-Clause */
/* One recording with the software source, from the command's start to the closed file. */
#ifndef PTL_RECORD_SESSION_H
#define PTL_RECORD_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "record/qemu_source.h"

struct record_session {
	const struct record_settings *settings;
	struct record_capture capture;
	struct record_qemu qemu;
	pid_t pid;       /* of the command */
	bool started;    /* the command */
	bool ended;      /* the command */
	bool alone;      /* no child, and so no descendant, is left */
	bool stopped;    /* tracing was ended before the programs did */
	bool leave;      /* and so shall ptl-record, though the command runs */
	int wait_status; /* of the command */
	uint64_t start;  /* record_now() */
	uint64_t end_of_command;
	uint64_t progress_shown;
	unsigned interrupts;
	int failure; /* ptl_status: recording ended for want of memory */
};

/* ---- session_children.c ---------------------------------------------------------------------- */

/* Takes the wait statuses of children that ended; notes the command's. */
int record_session_reap(struct record_session *session);
/* Does what signals ask for. */
void record_session_signals(struct record_session *session);
/* Ends tracing; the programs run on. */
void record_session_stop(struct record_session *session);
/* The exit status that stands for the command's end. */
int record_session_exit_status(const struct record_session *session);

#endif
