/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests to a session and answers, one message each. A request is a word and arguments, each zero-terminated. An
 * answer begins with '+'; a failure begins with '-' and the cause.
 *
 * The answer to "rest" comes at the end of the session, for a reader that follows the session's files. The answer of a
 * series consists of zero-terminated parts: "FIRST LAST", the numbers of the remaining files; the text before the
 * number in file names; the text behind the number; and numbers of recorded events: up to the end, before the last
 * file, before the previous file, and so on, as far as known. File names have numbers of at least six digits. Files in
 * memory have no names: the message carries their descriptors, last file first.
 */
#ifndef RECORD_CONTROL_REQUEST_H
#define RECORD_CONTROL_REQUEST_H

#include <stdbool.h>
#include <stdio.h>

#include "record/session/session.h"

/* Argument of "snapshot": an empty snapshot is no failure. */
#define RECORD_CONTROL_ANY "any"

/* Arguments of "update" begin with two characters, on or off and the kind; the rule follows. */
#define RECORD_CONTROL_ON '+'
#define RECORD_CONTROL_OFF '-'
#define RECORD_CONTROL_PROVIDER 'p'
#define RECORD_CONTROL_EVENT 'e'
#define RECORD_CONTROL_FLAGS 'f'
#define RECORD_CONTROL_STACK 's'
#define RECORD_CONTROL_ONLY 'o' /* a term of --only */

enum record_control_when {
	RECORD_CONTROL_NOW,
	RECORD_CONTROL_AT_END, /* at the end of the session */
	RECORD_CONTROL_KEPT,   /* after the file of the data in memory is written */
	RECORD_CONTROL_REST,   /* at the end: the remaining files */
};

/* Handles a request, and writes the answer's text. *when: set to the time of the answer. */
int record_control_request(struct record_session *session, const char *request, size_t size, FILE *answer,
			   enum record_control_when *when);

#endif
