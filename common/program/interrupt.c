/* SPDX-License-Identifier: BSD-2-Clause */
/* Interruption: signals are noted, so that incomplete output is removed before the program ends. */
#include "common/program/interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/signals.h"

static volatile sig_atomic_t noted;
static volatile sig_atomic_t deferred;
/* Function to call on a signal, and its context. The context is set before the function. */
static void (*volatile cancel_running)(void *context);
static void *volatile running;

static void note_signal(int signal)
{
	void (*const cancel)(void *) = cancel_running;

	if (deferred > 0) {
		deferred = deferred - 1;
		return;
	}
	noted = signal;
	if (cancel)
		cancel(running);
}

void common_interrupt_forget(void)
{
	cancel_running = NULL;
	running = NULL;
}

void common_interrupt_defer(int signals)
{
	deferred = signals;
}

int common_interrupt_deferred(void)
{
	return deferred;
}

int common_interrupt_tell(int *interruptions_left)
{
	const int left = common_interrupt_deferred();

	if (left && left < *interruptions_left)
		common_message_note(
			"interrupted: waiting for the end of the pipe; interrupt again to take what has come");
	*interruptions_left = left;
	return left;
}

void common_interrupt_catch(void (*cancel)(void *context), void *context)
{
	static const int ending[] = {SIGINT, SIGTERM, SIGHUP};

	running = context;
	cancel_running = cancel;
	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
		common_signal_catch_unignored(ending[i], note_signal, 0, NULL);
	/* When the reader of the output goes away, the next write fails with EPIPE instead. */
	common_signal_ignore(SIGPIPE, NULL);
}

int common_interrupt_check(void)
{
	return noted ? common_fail(PTL_CANCELLED, "interrupted by signal %d (%s)", (int)noted, strsignal(noted)) : 0;
}

void common_interrupt_die(void)
{
	if (!noted)
		return;
	common_signal_catch(noted, SIG_DFL, 0, NULL);
	raise(noted);
}
