/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages on stderr: one write each, safe for a terminal, with the progress line below. */
#include "common/program/message.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"
#include "common/plural.h"
#include "common/text/utf8.h"

#define LINE_SIZE 4096
#define PROGRESS_NANOSECONDS 100000000
#define CLEAR_LINE "\r\033[K"

/* State of stderr. A process has one stderr, hence one state. */
static struct {
	pthread_mutex_t lock;
	const char *program;
	bool quiet;
	bool terminal; /* stderr accepts cursor movements */
	bool colour;
	bool progress_shown;
	uint64_t progress_time;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER, .program = "ptl"};

enum { BOLD_RED, BOLD_YELLOW, BOLD_CYAN, PLAIN };

static const char *const colours[] = {
	[BOLD_RED] = "\033[1;31m",
	[BOLD_YELLOW] = "\033[1;33m",
	[BOLD_CYAN] = "\033[1;36m",
	[PLAIN] = "",
};

int common_exit_of(int status)
{
	switch (status) {
	case PTL_NOT_OURS:
	case PTL_UNSUPPORTED:
	case PTL_CORRUPT:
	case PTL_TRUNCATED:
	case PTL_NOT_FOUND:
		return COMMON_EXIT_INPUT;
	case PTL_MISUSE:
		return COMMON_EXIT_USAGE;
	default:
		return status < 0 ? COMMON_EXIT_SYSTEM : COMMON_EXIT_OK;
	}
}

void common_message_start(const char *program, bool quiet)
{
	const char *term = getenv("TERM");
	const char *no_colour = getenv("NO_COLOR");

	pthread_mutex_lock(&state.lock);
	state.program = program;
	state.quiet = quiet;
	state.terminal = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
	state.colour = state.terminal && !(no_colour && *no_colour);
	pthread_mutex_unlock(&state.lock);
}

/*
 * Copies `text` to `line`, of `size` bytes, with control characters and invalid UTF-8 as \xNN. Names from a trace or of
 * a file are untrusted: they must neither control the user's terminal nor pass for a separate line. lines: the newlines
 * are the program's own and are kept. Returns the length.
 */
static size_t make_safe(char *line, size_t size, const char *text, bool lines)
{
	const size_t end = strlen(text);
	size_t length = 0;

	for (size_t at = 0; at < end && length + 5 < size;) {
		uint32_t character;
		const size_t bytes = common_utf8_read((const uint8_t *)text + at, end - at, &character);
		const bool control = character < 0x20 || (character >= 0x7f && character < 0xa0);

		if (!bytes || (control && character != '\t' && !(lines && character == '\n'))) {
			/* Escapes one byte at a time, also of a multi-byte control character. */
			length += (size_t)snprintf(line + length, size - length, "\\x%02x", (unsigned char)text[at]);
			at++;
		} else {
			memcpy(line + length, text + at, bytes);
			length += bytes;
			at += bytes;
		}
	}
	line[length] = 0;
	return length;
}

/*
 * One write per message, so that messages of several processes do not mix. A failed write cannot be reported anywhere.
 */
static void put_line(const char *line, size_t length)
{
	(void)common_write_all(STDERR_FILENO, line, length);
}

static void clear_progress(void)
{
	if (state.progress_shown)
		put_line(CLEAR_LINE, strlen(CLEAR_LINE));
	state.progress_shown = false;
}

__attribute__((format(printf, 3, 0))) static void print_message(int colour, const char *kind, const char *format,
								va_list arguments)
{
	/* Formats into local buffers: the arguments may point into the chain of causes, which must stay unchanged. */
	char text[LINE_SIZE], line[LINE_SIZE + 128];
	size_t length;

	if (vsnprintf(text, sizeof(text), format, arguments) < 0)
		return;
	common_plural_choose(format, text);
	pthread_mutex_lock(&state.lock);
	clear_progress();
	if (kind)
		length = (size_t)snprintf(line, 128, "%.64s: %s%s%s", state.program,
					  state.colour ? colours[colour] : "", kind,
					  state.colour && *colours[colour] ? "\033[0m" : "");
	else
		length = (size_t)snprintf(line, 128, "  try: ");
	length += make_safe(line + length, sizeof(line) - length - 1, text, strchr(format, '\n'));
	line[length++] = '\n';
	put_line(line, length);
	pthread_mutex_unlock(&state.lock);
}

void common_message_error(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print_message(BOLD_RED, "error: ", format, arguments);
	va_end(arguments);
}

void common_message_warning(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print_message(BOLD_YELLOW, "warning: ", format, arguments);
	va_end(arguments);
}

void common_message_note(const char *format, ...)
{
	va_list arguments;

	if (state.quiet)
		return;
	va_start(arguments, format);
	print_message(PLAIN, "", format, arguments);
	va_end(arguments);
}

void common_message_hint(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print_message(PLAIN, NULL, format, arguments);
	va_end(arguments);
}

int common_message_failure(int status)
{
	const char *text = ptl_error_text();

	common_message_error("%s", *text ? text : ptl_status_name(status));
	return common_exit_of(status);
}

static uint64_t now_nanoseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void common_progress(const char *format, ...)
{
	const uint64_t now = now_nanoseconds();
	char text[256], line[512];
	va_list arguments;
	size_t length;

	if (!state.terminal || state.quiet)
		return;
	pthread_mutex_lock(&state.lock);
	if (!state.progress_time || now - state.progress_time >= PROGRESS_NANOSECONDS) {
		va_start(arguments, format);
		vsnprintf(text, sizeof(text), format, arguments);
		va_end(arguments);
		length = (size_t)snprintf(line, sizeof(line), "%s", CLEAR_LINE);
		length += make_safe(line + length, sizeof(line) - length, text, false);
		put_line(line, length);
		state.progress_shown = true;
		state.progress_time = now;
	}
	pthread_mutex_unlock(&state.lock);
}

void common_progress_end(void)
{
	pthread_mutex_lock(&state.lock);
	clear_progress();
	state.progress_time = 0;
	pthread_mutex_unlock(&state.lock);
}
