/* SPDX-License-Identifier: BSD-2-Clause */
/* What a source is: one table of operations. record/sources.c has the table of those that the user can choose. */
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
 * A source observes, and delivers what it has seen to session->capture. A session drives several at once, the first of
 * which is the main one: it starts the command. `state` is what the source's open has made. Operations that return an
 * int return 0 or a ptl_status, unless they say otherwise; those marked * may be NULL, which is: nothing to do.
 */
struct record_source {
	const char *name;
	const char *summary;

	/* ---- of those that can be main ---- */

	const struct common_option *options; /* *of its own: they set members of struct record_settings */
	bool only_by_name;                   /* "auto" does not take it */
	bool needs_no_command;               /* it can record what runs already */
	bool native;                         /* the kernel runs the command, which may be any program */
	bool observes;                       /* sets session->observer */
	/*
	 * 0 if it works on this machine; else a ptl_status, with why it does not as the error chain
	 * and what the user can do about it in hint (empty: nothing).
	 */
	int (*check)(const struct record_settings *settings, char *hint, size_t hint_size);
	/* *Completes what the machine record says of the source. */
	void (*describe)(const struct record_settings *settings, struct ptl_machine *machine);
	/* Starts the command and sets session->pid. files: the limit of descriptors that it shall have. */
	int (*start)(void *state, struct record_session *session, const struct record_command *command,
		     const struct rlimit *files);
	/*
	 * *0, or the exit status of a source that has not worked, which it has explained: the trace is
	 * of nothing.
	 */
	int (*verdict)(void *state, const struct record_session *session);
	/* *Why, likely, a program died of this signal here; NULL: nothing that the source knows of. */
	const char *(*likely_cause)(int signal);

	/* ---- of all, in the order in which they are called ---- */

	/*
	 * Prepares the source, and makes session->wait wake when there is something to take. NULL in a source that is
	 * in the table only to say why it does not work here.
	 */
	int (*open)(struct record_session *session, void **state);
	/* Takes what there is, and sets *work if there was anything. Called again and again. */
	int (*drain)(void *state, uint64_t now, bool *work);
	/* *A child of ours ended. */
	int (*exited)(void *state, uint32_t pid, uint32_t wait_status);
	/* *Completes what processes left behind whose ends have been seen. */
	int (*reap)(void *state);
	/* *When drain wants to be called though nothing has rung: a record_now(). */
	uint64_t (*due)(void *state, uint64_t now);
	/* *Keeps what it has in memory that is written over and over: somebody asked for it. */
	int (*snapshot)(void *state);
	/*
	 * *Turns on, or off, what a rule of --provider names, while recording goes on; what there is to say goes to notes.
	 * PTL_MISUSE, PTL_NOT_FOUND (it was not on), PTL_SYSTEM, PTL_NO_MEMORY.
	 */
	int (*turn)(void *state, const char *rule, bool on, FILE *notes);
	/* *The same of an event of the kernel, as --event names it. */
	int (*turn_event)(void *state, const char *event, bool on, FILE *notes);
	/* *The same of those that flags stand for, "FLAG,..."; one for which another flag or --event asks stays on. */
	int (*turn_flags)(void *state, const char *flags, bool on, FILE *notes);
	/* *Gives stacks to the events of the kernel whose names match a pattern, as --stack has it. */
	int (*turn_stack)(void *state, const char *pattern, bool on, FILE *notes);
	/* *What the source has turned on, for who asks the session. */
	void (*answer)(void *state, struct record_answer *answer);
	/* *Recording ends though programs run on. */
	void (*stop)(void *state);
	/* Takes all that is left. alone: no process that was recorded lives any more. */
	int (*finish)(void *state, bool alone);
	void (*close)(void *state);
};

#endif
