/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the installed handlers, and that threads get no signals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/signals.h"

static volatile sig_atomic_t calls;
static volatile sig_atomic_t other_blocked;

static void count(int number)
{
	sigset_t blocked;

	(void)number;
	calls = calls + 1;
	pthread_sigmask(SIG_BLOCK, NULL, &blocked);
	other_blocked = sigismember(&blocked, SIGUSR2);
}

static int set_up(void **state)
{
	(void)state;
	calls = 0;
	other_blocked = -1;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	common_signal_catch(SIGUSR1, SIG_DFL, 0, NULL);
	return 0;
}

static void catches_with_others_blocked(void **state)
{
	struct sigaction before;

	(void)state;
	common_signal_catch(SIGUSR1, count, 0, &before);
	assert_true(before.sa_handler == SIG_DFL);
	raise(SIGUSR1);
	assert_int_equal(calls, 1);
	assert_int_equal(other_blocked, 1);
	common_signal_catch(SIGUSR1, count, SA_NODEFER, NULL);
	raise(SIGUSR1);
	assert_int_equal(calls, 2);
	assert_int_equal(other_blocked, 0);
}

static void leaves_ignored_what_was(void **state)
{
	struct sigaction before;

	(void)state;
	common_signal_ignore(SIGUSR1, NULL);
	common_signal_catch_unignored(SIGUSR1, count, 0, &before);
	assert_true(before.sa_handler == SIG_IGN);
	raise(SIGUSR1);
	assert_int_equal(calls, 0);
	common_signal_catch(SIGUSR1, SIG_DFL, 0, NULL);
	common_signal_catch_unignored(SIGUSR1, count, 0, &before);
	assert_true(before.sa_handler == SIG_DFL);
	raise(SIGUSR1);
	assert_int_equal(calls, 1);
}

static void puts_back_what_was(void **state)
{
	struct sigaction before;

	(void)state;
	common_signal_catch(SIGUSR1, count, 0, NULL);
	common_signal_ignore(SIGUSR1, &before);
	raise(SIGUSR1);
	assert_int_equal(calls, 0);
	common_signal_restore(SIGUSR1, &before);
	raise(SIGUSR1);
	assert_int_equal(calls, 1);
}

static void *look_at_mask(void *context)
{
	sigset_t *blocked = context;

	pthread_sigmask(SIG_BLOCK, NULL, blocked);
	return NULL;
}

static void threads_get_no_signals(void **state)
{
	sigset_t before, after, blocked;
	pthread_t thread;

	(void)state;
	pthread_sigmask(SIG_BLOCK, NULL, &before);
	assert_int_equal(common_thread_start(&thread, NULL, look_at_mask, &blocked), 0);
	pthread_join(thread, NULL);
	pthread_sigmask(SIG_BLOCK, NULL, &after);
	/* The two below SIGRTMIN are the C library's. */
	for (int number = 1; number < SIGRTMIN - 2; number++) {
		assert_int_equal(sigismember(&after, number), sigismember(&before, number));
		if (number != SIGKILL && number != SIGSTOP)
			assert_int_equal(sigismember(&blocked, number), 1);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(catches_with_others_blocked),
		TEST(leaves_ignored_what_was),
		TEST(puts_back_what_was),
		TEST(threads_get_no_signals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
