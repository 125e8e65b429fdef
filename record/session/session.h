/* SPDX-License-Identifier: BSD-2-Clause */
/* One recording with any source, from the command's start to the closed file. */
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

/* an open source and its state */
struct record_running {
	const struct record_source *source;
	void *state;
};

struct record_session {
	const struct record_settings *settings;
	struct record_running running[RECORD_SOURCES_MAX]; /* open sources, the main one first */
	size_t running_count;
	const char *path; /* path of the trace as the user gave it; at the end, path of the last file */
	char last[4096];  /* buffer for `path` if the trace is a series of files */
	bool has_command;
	struct record_capture capture;
	struct record_wait wait;
	/* reports native processes that other sources meet; NULL without such a source */
	struct record_observer *observer;
	pid_t pid;       /* pid of the command */
	bool ended;      /* The command has ended. */
	bool alone;      /* The recorder has no child left, and therefore no descendant of the command lives. */
	bool stopped;    /* Tracing was ended before the programs ended. */
	bool leave;      /* The recording ends although the command still runs. */
	bool timed_out;  /* --duration is over */
	int wait_status; /* wait status of the command */
	uint64_t start;  /* start of the recording, by record_now() */
	uint64_t end_of_command;
	uint64_t progress_shown;
	unsigned interrupts;
	int failure;            /* ptl_status of the error that ended the recording; 0 without an error */
	uint64_t failure_time;  /* time of the failure, by record_now() */
	char failure_text[512]; /* chain of causes of the failure */
	void *reserve;          /* memory to free before the end of the trace is written */
};

/*
 * Records settings->command, or running programs if settings->command is NULL.
 * sources: ends with NULL; the first source is the main source.
 * Returns the exit status of ptl-record. Errors have been printed to stderr.
 */
int record_session(const struct record_source *const *sources, const struct record_settings *settings);

/*
 * Returns the path of -o; without -o "COMMAND.ptl" or "SESSION.ptl", a path in the working directory. The caller frees
 * the path. Returns NULL without memory.
 */
char *record_session_path(const struct record_settings *settings);

/* ---- session_children.c ---------------------------------------------------------------------- */

/* Reaps ended children, and stores the wait status of the command. */
int record_session_reap(struct record_session *session);
/* Acts on received signals. */
void record_session_signals(struct record_session *session);
/*
 * Stores the first error that ends the recording, with ptl_error_text() as the chain of causes. A status of 0 is
 * ignored.
 */
void record_session_fail(struct record_session *session, int status);
/* Ends tracing. The programs run on. */
void record_session_stop(struct record_session *session);
/* Prints the signal that killed the command, if any, as a shell does. */
void record_session_say_signal(const struct record_session *session);
/* Returns the exit status that represents the end of the command. */
int record_session_exit_status(const struct record_session *session);

#endif
