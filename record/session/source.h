/* SPDX-License-Identifier: BSD-2-Clause */
/* The operations of a source. record/source.c has the table of all sources. */
#ifndef RECORD_SESSION_SOURCE_H
#define RECORD_SESSION_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>

#include "record/capture/settings.h"
#include "record/launch/command.h"

struct common_option;
struct ptl_machine;
struct record_answer;
struct record_session;

/*
 * A source observes programs, and delivers the observations to session->capture. A session drives several sources. The
 * first source is the main source: it starts the command.
 * state: set by `open`.
 * Operations of type int return 0 or a ptl_status, unless the comment says otherwise. Optional operations may be NULL.
 */
struct record_source {
	const char *name;
	const char *summary;

	/* ---- main sources only ------------ */

	/* Optional. Options of the source, which set members of struct record_settings. */
	const struct common_option *options;
	bool only_by_name;     /* "auto" never chooses this source. */
	bool needs_no_command; /* can record running programs */
	bool native;           /* The kernel runs the command, which may be any program. */
	bool observes;         /* sets session->observer */
	/*
	 * Returns 0 if the source works on this machine; else a ptl_status, with the cause in the error chain.
	 * hint: advice for the user; empty without advice.
	 */
	int (*check)(const struct record_settings *settings, char *hint, size_t hint_size);
	/* Optional. Completes the source's part of the machine record. */
	void (*describe)(const struct record_settings *settings, struct ptl_machine *machine);
	/* Starts the command, and sets session->pid. files: limit of descriptors for the command. */
	int (*start)(void *state, struct record_session *session, const struct record_command *command,
		     const struct rlimit *files);
	/*
	 * Optional. Returns 0, or the exit status if the source did not work. The source has explained the failure; the
	 * trace holds nothing.
	 */
	int (*verdict)(void *state, const struct record_session *session);

	/* ---- all sources, in calling order -------------------- */

	/*
	 * Prepares the source, and makes session->wait wake if data arrives. NULL in a table row that exists only to
	 * say why the source does not work on this machine.
	 */
	int (*open)(struct record_session *session, void **state);
	/* Reads the available data. Sets *work if there was data. Called repeatedly. */
	int (*drain)(void *state, uint64_t now, bool *work);
	/* Optional. Notes that a child of the recorder ended. */
	int (*exited)(void *state, uint32_t pid, uint32_t wait_status);
	/* Optional. Completes the data of ended processes. */
	int (*reap)(void *state);
	/* Optional. Returns the time, by record_now(), at which drain has work even without a wake-up. */
	uint64_t (*due)(void *state, uint64_t now);
	/* Optional. Saves the contents of ring buffers: the user asked for a snapshot. */
	int (*snapshot)(void *state);
	/*
	 * Optional. Turns the providers of a --provider rule on or off during the recording.
	 * notes: receives text for the user.
	 * Fails with PTL_MISUSE, PTL_NOT_FOUND if the rule was not on, PTL_SYSTEM or PTL_NO_MEMORY.
	 */
	int (*turn)(void *state, const char *rule, bool on, FILE *notes);
	/* Optional. Turns a kernel event on or off. event: a name as for --event. */
	int (*turn_event)(void *state, const char *event, bool on, FILE *notes);
	/*
	 * Optional. Turns the kernel events of "FLAG,..." on or off. An event that another flag or --event requests
	 * stays on.
	 */
	int (*turn_flags)(void *state, const char *flags, bool on, FILE *notes);
	/* Optional. Turns stacks on or off for kernel events whose names match a pattern, as for --stack. */
	int (*turn_stack)(void *state, const char *pattern, bool on, FILE *notes);
	/* Optional. Adds everything that the source has turned on to an answer of the session. */
	void (*answer)(void *state, struct record_answer *answer);
	/* Optional. Ends recording. Programs run on. */
	void (*stop)(void *state);
	/* Reads all remaining data. alone: no recorded process lives any more. */
	int (*finish)(void *state, bool alone);
	void (*close)(void *state);
};

#endif
