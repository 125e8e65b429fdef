/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interval timers that interrupt tight loops: a loop of one block, a loop of calls and returns, a loop left by the
 * handler's siglongjmp, and blocking calls (restarted and not).
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static volatile sig_atomic_t ticks;
static sigjmp_buf back;

static void tick(int signal)
{
	(void)signal;
	ticks++;
}

static void jump(int signal)
{
	(void)signal;
	siglongjmp(back, 1);
}

static void install(void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
}

/* Starts the timer. repeat 0: a single signal. */
static void timer(unsigned microseconds, int repeat)
{
	struct itimerval value = {.it_value.tv_usec = (suseconds_t)microseconds};

	if (repeat)
		value.it_interval = value.it_value;
	CHECK(setitimer(ITIMER_REAL, &value, NULL) == 0);
}

__attribute__((noipa)) static unsigned leaf(unsigned x)
{
	return x * 7 + 1;
}

static void one_block_loop(void)
{
	ticks = 0;
	while (ticks < 5)
		;
}

static unsigned call_loop(void)
{
	unsigned sum = 0;

	ticks = 0;
	while (ticks < 5)
		sum = leaf(sum);
	return sum;
}

static void loop_until_jump(void)
{
	volatile unsigned sum = 0;

	if (sigsetjmp(back, 1) == 0) {
		timer(3000, 0);
		while (!ticks || ticks)
			sum = leaf(sum);
	}
}

static void blocking_read(void)
{
	int ends[2];
	char byte;

	CHECK(pipe(ends) == 0);
	install(tick, 0);
	ticks = 0;
	/* repeatedly, as the first signal may come before the read */
	timer(3000, 1);
	errno = 0;
	CHECK(read(ends[0], &byte, 1) == -1 && errno == EINTR && ticks >= 1);

	/* restarted: the byte arrives from a child after the signal */
	install(tick, SA_RESTART);
	if (fork() == 0) {
		usleep(20000);
		_exit(write(ends[1], "x", 1) == 1 ? 0 : 1);
	}
	CHECK(read(ends[0], &byte, 1) == 1 && byte == 'x');
	timer(0, 0);
	CHECK(wait(NULL) > 0);
}

int main(void)
{
	install(tick, 0);
	timer(2000, 1);
	one_block_loop();
	call_loop();
	timer(0, 0);
	install(jump, 0);
	for (int i = 0; i < 3; i++)
		loop_until_jump();
	blocking_read();
	printf("signal_timer done\n");
	return 0;
}
