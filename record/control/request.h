/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is asked of a session, and answered: one message each. A request is a word and arguments, each with a zero behind it; an
 * answer begins with '+' or, where it is why the request failed, '-'.
 */
#ifndef RECORD_CONTROL_REQUEST_H
#define RECORD_CONTROL_REQUEST_H

#include <stdbool.h>
#include <stdio.h>

#include "record/session/session.h"

/* Argument of "snapshot": it is no failure that there is nothing to keep. */
#define RECORD_CONTROL_ANY "any"

/* Arguments of "update" begin with whether to turn on or off, and what; the rule follows. */
#define RECORD_CONTROL_ON '+'
#define RECORD_CONTROL_OFF '-'
#define RECORD_CONTROL_PROVIDER 'p'
#define RECORD_CONTROL_EVENT 'e'
#define RECORD_CONTROL_FLAGS 'f'
#define RECORD_CONTROL_STACK 's'
#define RECORD_CONTROL_ONLY 'o' /* a term of --only */

enum record_control_when {
	RECORD_CONTROL_NOW,
	RECORD_CONTROL_AT_END, /* of the session */
	RECORD_CONTROL_KEPT,   /* when the file of what is in memory is written */
};

/* Does what a request asks for, and writes the answer's text; *when the answer is due. */
int record_control_request(struct record_session *session, const char *request, size_t size, FILE *answer,
			   enum record_control_when *when);

#endif
