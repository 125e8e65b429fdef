/* SPDX-License-Identifier: BSD-2-Clause */
/* What a program says on stderr, and the exit statuses of all three programs. */
#ifndef COMMON_PROGRAM_MESSAGE_H
#define COMMON_PROGRAM_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

/* Exit statuses, the same for every program; ptl-record passes on its command's own instead. */
enum common_exit {
	COMMON_EXIT_OK = 0,
	COMMON_EXIT_FINDING = 1, /* the work was done, and found what the user asked for */
	COMMON_EXIT_USAGE = 2,   /* the command line is wrong */
	COMMON_EXIT_INPUT = 3,   /* an input is not a trace, is damaged or unsupported */
	COMMON_EXIT_SYSTEM = 4,  /* the system refused: file, memory, permission */
};

/* The exit status of a ptl_status. PTL_NOT_FOUND says that an input lacks what was asked for. */
int common_exit_of(int status);

/* Sets the name that starts every message; kept by pointer. --quiet silences notes and progress. */
void common_message_start(const char *program, bool quiet);

/*
 * "ptl-dump: error: ..." in one write, in colour on a terminal. Each ends with a newline of its
 * own. Control characters and bytes that are no UTF-8 are shown as \xNN, since names out of a trace are not to be trusted; line ends
 * are kept if the format has some.
 */
void common_message_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void common_message_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void common_message_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "  try: ..." : what the user can do next; follows an error or a warning. */
void common_message_hint(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Reports ptl_error_text() as an error and returns the exit status of status. */
int common_message_failure(int status);

/*
 * A line that is written over in place, only on a terminal and at most ten times a second; messages
 * clear it first. common_progress_end removes it.
 */
void common_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
void common_progress_end(void);

#endif
