/* SPDX-License-Identifier: BSD-2-Clause */
/* What a program says on stderr, and the exit statuses of all three programs. */
#ifndef PTL_COMMON_MESSAGE_H
#define PTL_COMMON_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

/* Exit statuses, the same for every program; ptl-record passes on its command's own instead. */
enum ptl_exit {
	PTL_EXIT_OK = 0,
	PTL_EXIT_FINDING = 1, /* the work was done, and found what the user asked to be told of */
	PTL_EXIT_USAGE = 2,   /* the command line is wrong */
	PTL_EXIT_INPUT = 3,   /* an input is not a trace, is damaged or unsupported */
	PTL_EXIT_SYSTEM = 4,  /* the system refused: file, memory, permission */
};

/* The exit status of a ptl_status. PTL_NOT_FOUND says that an input lacks what was asked for. */
int ptl_exit_of(int status);

/* Sets the name that starts every message; kept by pointer. --quiet silences notes and progress. */
void ptl_message_start(const char *program, bool quiet);

/*
 * "ptl-dump: error: ..." in one write, in colour on a terminal. Each ends with a newline of its
 * own. Control characters are shown as \xNN, since names out of a trace are not to be trusted.
 */
void ptl_message_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void ptl_message_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void ptl_message_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "  try: ..." : what the user can do next; follows an error or a warning. */
void ptl_message_hint(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Reports ptl_error_text() as an error and returns the exit status of status. */
int ptl_message_failure(int status);

/*
 * A line that is written over in place, only on a terminal and at most ten times a second; messages
 * clear it first. ptl_progress_end removes it.
 */
void ptl_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
void ptl_progress_end(void);

#endif
