/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of a program on stderr, and the exit statuses of all three programs. */
#ifndef COMMON_PROGRAM_MESSAGE_H
#define COMMON_PROGRAM_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

/* Exit statuses, the same for every program. ptl-record instead returns the exit status of the command it ran. */
enum common_exit {
	COMMON_EXIT_OK = 0,
	COMMON_EXIT_FINDING = 1, /* the work was done, and a problem was found that the user asked about */
	COMMON_EXIT_USAGE = 2,   /* the command line is wrong */
	COMMON_EXIT_INPUT = 3,   /* an input is no trace, or is damaged or unsupported */
	COMMON_EXIT_SYSTEM = 4,  /* the system refused a file, memory or a permission */
};

/*
 * Returns the exit status for a ptl_status. PTL_NOT_FOUND counts as an input error: an input lacks the requested data.
 */
int common_exit_of(int status);

/*
 * Sets the program name at the start of every message; the pointer is kept. quiet (--quiet) silences notes and
 * progress.
 */
void common_message_start(const char *program, bool quiet);

/*
 * Prints "ptl-dump: error: ..." in one write, in colour on a terminal, with a newline at the end. Control characters
 * and invalid UTF-8 are shown as \xNN, since names from a trace are untrusted. Newlines are kept if the format contains
 * a newline.
 */
void common_message_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void common_message_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void common_message_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints "  try: ...": the user's next step. Follows an error or a warning. */
void common_message_hint(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Reports ptl_error_text() as an error and returns the exit status for `status`. */
int common_message_failure(int status);

/*
 * Shows a progress line that is overwritten in place, only on a terminal and at most ten times a second. Messages clear
 * the line first. common_progress_end removes the line.
 */
void common_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
void common_progress_end(void);

#endif
