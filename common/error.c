/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread-local chain of causes, stored as the text that the user reads. */
#include "common/error.h"
#include "common/plural.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A cause is cut at CAUSE_SIZE - 1 characters, so that a long path leaves room for further causes. */
#define CAUSE_SIZE 512
#define CHAIN_SIZE 2048

static _Thread_local char chain[CHAIN_SIZE];

const char *ptl_status_name(int status)
{
	static const char *const names[] = {
		[-PTL_OK] = "success",
		[-PTL_NOT_OURS] = "not in the expected format",
		[-PTL_UNSUPPORTED] = "unsupported",
		[-PTL_CORRUPT] = "corrupt data",
		[-PTL_TRUNCATED] = "truncated data",
		[-PTL_NO_MEMORY] = "out of memory",
		[-PTL_MISUSE] = "misuse",
		[-PTL_SYSTEM] = "system error",
		[-PTL_CANCELLED] = "cancelled",
		[-PTL_NOT_FOUND] = "not found",
	};
	const int count = sizeof(names) / sizeof(names[0]);

	return status <= 0 && status > -count ? names[-status] : "unknown status";
}

const char *ptl_error_text(void)
{
	return chain;
}

void ptl_error_clear(void)
{
	chain[0] = 0;
}

/* Formats the cause into a separate buffer, as the arguments may point into the chain. */
__attribute__((format(printf, 2, 0))) static void format_cause(char cause[CAUSE_SIZE], const char *format,
							       va_list arguments)
{
	if (vsnprintf(cause, CAUSE_SIZE, format, arguments) < 0)
		cause[0] = 0;
	common_plural_choose(format, cause);
}

int common_fail(int status, const char *format, ...)
{
	char cause[CAUSE_SIZE];
	va_list arguments;

	va_start(arguments, format);
	format_cause(cause, format, arguments);
	va_end(arguments);
	snprintf(chain, sizeof(chain), "%s", cause);
	return status;
}

int common_fail_errno(const char *format, ...)
{
	const int number = errno;
	char cause[CAUSE_SIZE], buffer[128];
	va_list arguments;

	va_start(arguments, format);
	format_cause(cause, format, arguments);
	va_end(arguments);
	snprintf(chain, sizeof(chain), "%s: %s", cause, strerror_r(number, buffer, sizeof(buffer)));
	errno = number;
	return PTL_SYSTEM;
}

int common_fail_in(int status, const char *format, ...)
{
	char cause[CAUSE_SIZE], inner[CHAIN_SIZE];
	va_list arguments;
	int length;

	va_start(arguments, format);
	format_cause(cause, format, arguments);
	va_end(arguments);
	if (!chain[0]) {
		snprintf(chain, sizeof(chain), "%s", cause);
		return status;
	}
	memcpy(inner, chain, sizeof(chain));
	length = snprintf(chain, sizeof(chain), "%s: ", cause);
	/* An inner cause that does not fit is cut at the end. */
	snprintf(chain + length, sizeof(chain) - (size_t)length, "%.*s", (int)sizeof(chain) - length - 1, inner);
	return status;
}

int common_fail_memory(const char *what, size_t bytes)
{
	return common_fail(PTL_NO_MEMORY, "no memory for %s (%zu bytes)", what, bytes);
}
