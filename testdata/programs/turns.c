/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads, signals, and processes that take turns: no thread waits for a lock of the C library, each call that blocks blocks once, so that
 * every thread executes the same instructions in each run. `turns report ...` prints its arguments, as the programs that it starts do.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static const char *self;
static int ready[2], go[2];
static volatile sig_atomic_t caught[65];
static sigjmp_buf back;
static volatile int *volatile nowhere = (volatile int *)16;

static unsigned collatz(unsigned value)
{
	unsigned steps = 0;

	for (; value != 1; steps++)
		value = value & 1 ? 3 * value + 1 : value / 2;
	return steps;
}

static void note(int signal)
{
	caught[signal]++;
}

static void jump(int signal)
{
	caught[signal]++;
	siglongjmp(back, signal);
}

static void install(int signal, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	CHECK(sigaction(signal, &action, NULL) == 0);
}

/* Has the descriptors for itself: they are closed when the thread has ended, and the C library knows that it has. */
static void *work(void *argument)
{
	uintptr_t number = (uintptr_t)argument;
	char byte = (char)number;

	CHECK(unshare(CLONE_FILES) == 0);
	CHECK(write(ready[1], &byte, 1) == 1 && read(go[0], &byte, 1) == 1);
	if (byte == 2)
		raise(SIGUSR1);
	return (void *)(uintptr_t)collatz((unsigned)number + 26);
}

static unsigned threads(void)
{
	unsigned sum = 0;

	install(SIGUSR1, note, 0);
	for (uintptr_t i = 1; i <= 3; i++) {
		pthread_t thread;
		void *result;
		char byte;

		CHECK(pipe(ready) == 0 && pipe(go) == 0);
		CHECK(pthread_create(&thread, NULL, work, (void *)i) == 0);
		CHECK(read(ready[0], &byte, 1) == 1 && byte == (char)i);
		CHECK(close(ready[1]) == 0 && write(go[1], &byte, 1) == 1);
		CHECK(read(ready[0], &byte, 1) == 0);
		CHECK(pthread_join(thread, &result) == 0);
		sum += (unsigned)(uintptr_t)result;
	}
	CHECK(caught[SIGUSR1] == 1);
	return sum;
}

static void signals(void)
{
	static char stack[65536];
	const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};

	CHECK(sigaltstack(&alternate, NULL) == 0);
	install(SIGSEGV, jump, SA_ONSTACK);
	install(SIGRTMIN + 1, note, 0);
	for (int i = 0; i < 3; i++)
		if (!sigsetjmp(back, 1))
			*nowhere = i;
	CHECK(caught[SIGSEGV] == 3);
	CHECK(sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = 4}) == 0);
	CHECK(raise(SIGRTMIN + 1) == 0 && caught[SIGRTMIN + 1] == 2);
}

static int status_of(pid_t pid)
{
	int status;

	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void processes(void)
{
	char *arguments[] = {(char *)self, (char *)"report", (char *)"by spawn", NULL};
	char *environment[] = {NULL};
	pid_t pid = fork();

	if (!pid)
		_exit((int)collatz(27));
	CHECK(status_of(pid) == 111);
	pid = fork();
	if (!pid) {
		execl(self, self, "report", "by exec", NULL);
		_exit(1);
	}
	CHECK(status_of(pid) == 0);
	CHECK(posix_spawn(&pid, self, NULL, NULL, arguments, environment) == 0 && status_of(pid) == 0);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		for (int i = 1; i < argc; i++)
			printf("%s%c", argv[i], i + 1 < argc ? ' ' : '\n');
		return 0;
	}
	self = argv[0];
	signals();
	processes();
	printf("turns %u\n", threads());
	return 0;
}
