/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that do not end by exit: by a fault, abort, a signal sent to themselves, SIGKILL sent
 * by the parent while they compute, while they sleep, and while four threads run. With an argument
 * the program itself dies: `deaths segv`, `deaths abort`, `deaths kill`, `deaths term`.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static volatile unsigned sink;
static int *volatile nothing;

static void die_of_fault(void)
{
	for (unsigned i = 0; i < 1000; i++)
		sink += i;
	*nothing = 1;
}

static void die_of_abort(void)
{
	abort();
}

static void die_of_kill(void)
{
	kill(getpid(), SIGKILL);
}

static void die_of_term(void)
{
	raise(SIGTERM);
}

static volatile int stop; /* never set: makes a branch whose direction the packets report */

static void *spin(void *argument)
{
	/* Other threads do not change the branches of this thread. */
	volatile unsigned turns = 0;

	(void)argument;
	do {
		/*
		 * Two blocks per turn: for a block that follows itself, the number of turns before the death is
		 * uncertain.
		 */
		if (++turns & 1)
			++turns;
	} while (!stop);
	return NULL;
}

static int ready[2]; /* pipe: a child that SIGKILL is to end has begun */

/* On a busy machine, a child may not execute an instruction for a long time. */
static void tell_parent(void)
{
	CHECK(write(ready[1], "", 1) == 1);
}

static void compute(void)
{
	tell_parent();
	spin(NULL);
}

static void compute_in_threads(void)
{
	pthread_t thread;

	for (int i = 0; i < 4; i++)
		CHECK(pthread_create(&thread, NULL, spin, NULL) == 0);
	tell_parent();
	spin(NULL);
}

static void sleep_on(void)
{
	tell_parent();
	for (;;)
		pause();
}

/*
 * Runs body in a child; kill_it: kills the child a moment after the child's message. Returns the signal of the death.
 */
static int death_of(void (*body)(void), int kill_it)
{
	int status;
	char byte;
	pid_t pid;

	CHECK(pipe(ready) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		body();
		_exit(0);
	}
	if (kill_it) {
		CHECK(read(ready[0], &byte, 1) == 1);
		usleep(20000);
		CHECK(kill(pid, SIGKILL) == 0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(close(ready[0]) == 0 && close(ready[1]) == 0);
	CHECK(WIFSIGNALED(status));
	return WTERMSIG(status);
}

static const struct {
	const char *name;
	void (*body)(void);
} deaths[] = {
	{"segv", die_of_fault},
	{"abort", die_of_abort},
	{"kill", die_of_kill},
	{"term", die_of_term},
};

int main(int argc, char **argv)
{
	struct rlimit no_core = {0, 0};

	CHECK(setrlimit(RLIMIT_CORE, &no_core) == 0);
	for (unsigned i = 0; argc > 1 && i < sizeof(deaths) / sizeof(deaths[0]); i++)
		if (strcmp(argv[1], deaths[i].name) == 0)
			deaths[i].body();
	CHECK(death_of(die_of_fault, 0) == SIGSEGV);
	CHECK(death_of(die_of_abort, 0) == SIGABRT);
	CHECK(death_of(die_of_kill, 0) == SIGKILL);
	CHECK(death_of(die_of_term, 0) == SIGTERM);
	CHECK(death_of(compute, 1) == SIGKILL);
	CHECK(death_of(sleep_on, 1) == SIGKILL);
	CHECK(death_of(compute_in_threads, 1) == SIGKILL);
	printf("deaths done\n");
	return 0;
}
