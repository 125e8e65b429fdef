/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Signal handlers: nested handlers, siglongjmp out of one and of two handlers, a handler on an alternate stack, a
 * handler that gets its own signal again (SA_NODEFER), pending signals that arrive together after unblocking, and a
 * signal to a thread.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

#include "check.h"

static volatile sig_atomic_t depth;
static volatile sig_atomic_t deepest;
static volatile sig_atomic_t count[65];
static sigjmp_buf back;

static void install(int signal, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	CHECK(sigaction(signal, &action, NULL) == 0);
}

static void nested(int signal)
{
	depth++;
	count[signal]++;
	if (depth > deepest)
		deepest = depth;
	if (signal == SIGUSR1)
		raise(SIGUSR2);
	else if (signal == SIGUSR2)
		raise(SIGHUP);
	depth--;
}

static void again(int signal)
{
	count[signal]++;
	if (count[signal] < 20)
		raise(signal);
}

static void jump(int signal)
{
	count[signal]++;
	siglongjmp(back, signal);
}

static void jump_from_two(int signal)
{
	count[signal]++;
	raise(SIGURG); /* the handler of SIGURG jumps over this handler */
}

static char alternate[65536];
static volatile int was_on_alternate;

static void on_alternate(int signal)
{
	char here;

	count[signal]++;
	was_on_alternate = (uintptr_t)&here - (uintptr_t)alternate < sizeof(alternate);
}

static void test_alternate_stack(void)
{
	stack_t stack = {.ss_sp = alternate, .ss_size = sizeof(alternate)};

	CHECK(sigaltstack(&stack, NULL) == 0);
	install(SIGWINCH, on_alternate, SA_ONSTACK);
	raise(SIGWINCH);
	CHECK(was_on_alternate);
}

static void note(int signal)
{
	count[signal]++;
}

static void test_pending(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (int signal = SIGRTMIN + 1; signal < SIGRTMIN + 6; signal++) {
		install(signal, note, 0);
		sigaddset(&set, signal);
	}
	CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
	for (int signal = SIGRTMIN + 1; signal < SIGRTMIN + 6; signal++)
		for (int i = 0; i < 3; i++)
			raise(signal);
	CHECK(count[SIGRTMIN + 1] == 0);
	CHECK(pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0);
	for (int signal = SIGRTMIN + 1; signal < SIGRTMIN + 6; signal++)
		CHECK(count[signal] == 3);
}

static volatile int thread_ready;

static void *wait_for_signal(void *argument)
{
	(void)argument;
	thread_ready = 1;
	while (count[SIGCONT] < 5)
		;
	return NULL;
}

static void test_thread(void)
{
	pthread_t thread;

	install(SIGCONT, note, 0);
	CHECK(pthread_create(&thread, NULL, wait_for_signal, NULL) == 0);
	while (!thread_ready)
		;
	for (int i = 1; i <= 5; i++) {
		CHECK(pthread_kill(thread, SIGCONT) == 0);
		while (count[SIGCONT] < i)
			usleep(100);
	}
	CHECK(pthread_join(thread, NULL) == 0);
}

int main(void)
{
	install(SIGUSR1, nested, 0);
	install(SIGUSR2, nested, 0);
	install(SIGHUP, nested, 0);
	install(SIGTERM, again, SA_NODEFER);
	install(SIGURG, jump, 0);
	install(SIGALRM, jump_from_two, 0);

	for (int i = 0; i < 10; i++)
		raise(SIGUSR1);
	CHECK(count[SIGUSR1] == 10 && count[SIGUSR2] == 10 && count[SIGHUP] == 10 && deepest == 3);
	raise(SIGTERM);
	CHECK(count[SIGTERM] == 20);
	for (int i = 0; i < 10; i++) {
		if (sigsetjmp(back, 1) == 0) {
			raise(i % 2 ? SIGURG : SIGALRM);
			CHECK(!"siglongjmp came back");
		}
	}
	CHECK(count[SIGURG] == 10 && count[SIGALRM] == 5);
	test_alternate_stack();
	test_pending();
	test_thread();
	printf("signals %d\n", (int)deepest);
	return 0;
}
