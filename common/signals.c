/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets signal handlers, and starts threads with all signals blocked. */
#include "common/signals.h"

#include <stddef.h>

void common_signal_catch(int number, void (*handler)(int number), int flags, struct sigaction *before)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	if (!(flags & SA_NODEFER))
		sigfillset(&action.sa_mask);
	sigaction(number, &action, before);
}

void common_signal_catch_unignored(int number, void (*handler)(int number), int flags, struct sigaction *before)
{
	struct sigaction now;

	if (sigaction(number, NULL, &now) < 0)
		return;
	if (now.sa_handler != SIG_IGN)
		common_signal_catch(number, handler, flags, NULL);
	if (before)
		*before = now;
}

void common_signal_ignore(int number, struct sigaction *before)
{
	const struct sigaction ignore = {.sa_handler = SIG_IGN};

	sigaction(number, &ignore, before);
}

void common_signal_restore(int number, const struct sigaction *before)
{
	sigaction(number, before, NULL);
}

void common_signal_default(int number)
{
	const struct sigaction standard = {.sa_handler = SIG_DFL};

	sigaction(number, &standard, NULL);
}

void common_signal_block_all(sigset_t *before)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, before);
}

void common_signal_unblock(const sigset_t *before)
{
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

int common_thread_start(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *context),
			void *context)
{
	sigset_t before;
	int error;

	common_signal_block_all(&before);
	error = pthread_create(thread, attributes, function, context);
	common_signal_unblock(&before);
	return error;
}
