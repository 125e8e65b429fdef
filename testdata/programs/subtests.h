/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs of many small tests. Each test runs in a child process, so a failure hides no other test. The output has a
 * line per test: its name and the end of its process. An argument selects one test, which runs in the process itself.
 */
#ifndef TESTDATA_PROGRAMS_SUBTESTS_H
#define TESTDATA_PROGRAMS_SUBTESTS_H

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

struct subtest {
	const char *name;
	void (*run)(void);
};

#define SUBTEST(name)                                                                                                  \
	{                                                                                                              \
#name, name                                                                                            \
	}

#define SUBTEST_SECONDS 30 /* a test that hangs ends by SIGALRM or SIGKILL */

static void subtest_in_child(const struct subtest *test)
{
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		alarm(SUBTEST_SECONDS);
		test->run();
		fflush(NULL);
		_exit(0);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	if (WIFSIGNALED(status))
		printf("%s: signal %d\n", test->name, WTERMSIG(status));
	else if (WEXITSTATUS(status))
		printf("%s: exit status %d\n", test->name, WEXITSTATUS(status));
	else
		printf("%s: ok\n", test->name);
}

static inline int run_subtests(const struct subtest *tests, size_t count, int argc, char **argv)
{
	for (size_t i = 0; i < count; i++) {
		if (argc < 2)
			subtest_in_child(&tests[i]);
		else if (!strcmp(argv[1], tests[i].name))
			tests[i].run();
	}
	return 0;
}

static inline void install_action(int number, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};

	CHECK(sigaction(number, &action, NULL) == 0);
}

#endif
