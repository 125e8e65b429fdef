/* SPDX-License-Identifier: BSD-2-Clause */
/* Interruption: noted, so that the half-made output is removed before the program ends. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <ptl/relogger.h>

#include "common/error.h"
#include "relog/signals.h"

static volatile sig_atomic_t noted;
static volatile sig_atomic_t patience;
static struct ptl_relogger *volatile running;

static void note(int signal)
{
	struct ptl_relogger *relogger = running;

	if (patience > 0) {
		patience = patience - 1;
		return;
	}
	noted = signal;
	if (relogger)
		ptl_relogger_cancel(relogger);
}

void relog_forget_relogger(void)
{
	running = NULL;
}

void relog_be_patient(int signals)
{
	patience = signals;
}

int relog_patience(void)
{
	return patience;
}

void relog_catch_signals(struct ptl_relogger *relogger)
{
	static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = note};

	running = relogger;
	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++) {
		struct sigaction before;

		/* What the caller ignores (nohup) stays ignored. */
		if (sigaction(ending[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(ending[i], &action, NULL);
	}
	/* A reader of our output that goes away is seen as a failed write. */
	signal(SIGPIPE, SIG_IGN);
}

int relog_check_signals(void)
{
	return noted ? common_fail(PTL_CANCELLED, "interrupted by signal %d (%s)", (int)noted, strsignal(noted)) : 0;
}

void relog_die_of_signal(void)
{
	if (!noted)
		return;
	signal(noted, SIG_DFL);
	raise(noted);
}
