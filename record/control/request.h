/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is asked of a session, and answered: one message each. A request is a word and arguments, each with a zero behind it; an
 * answer begins with '+' or, where it is why the request failed, '-'.
 *
 * The answer to "rest" comes when the session ends, for who reads its files while it goes on. Of a session that has several, it has, each
 * with a zero behind it: "FIRST LAST", numbers of the files that are left; what is in front of the number in their names, and what is
 * behind it; and how many events were recorded up to the end, before the last file, before the one in front of it, and so on,
 * as far as that is known. A number has six digits, or more. Files in memory have no names: their descriptors come with the
 * message, that of the last file first.
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
	RECORD_CONTROL_REST,   /* at the end: the files that are left */
};

/* Does what a request asks for, and writes the answer's text; *when the answer is due. */
int record_control_request(struct record_session *session, const char *request, size_t size, FILE *answer,
			   enum record_control_when *when);

#endif
