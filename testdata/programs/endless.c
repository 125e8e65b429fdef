/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Endless loops without a reported branch: a jump to itself and a loop of two direct jumps, ended by a timer's
 * siglongjmp, and a child killed by its parent in a loop. Intel PT does not tell the number of turns; a decoder must
 * continue behind the loop all the same.
 */
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static sigjmp_buf back;
static volatile int jumps;

static void jump(int signal)
{
	(void)signal;
	jumps++;
	siglongjmp(back, 1);
}

static void jump_to_itself(void)
{
	__asm__ volatile("1: jmp 1b");
}

static void two_jumps(void)
{
	__asm__ volatile("1: nop\n\t"
			 "jmp 2f\n\t"
			 "2: nop\n\t"
			 "jmp 1b");
}

static void run(void (*loop)(void))
{
	struct itimerval soon = {.it_value.tv_usec = 2000};

	if (sigsetjmp(back, 1) == 0) {
		CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
		loop();
	}
}

static void kill_in_one(void)
{
	int status, ends[2];
	char begun = 0;
	pid_t pid;

	CHECK(pipe(ends) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		CHECK(write(ends[1], &begun, 1) == 1);
		jump_to_itself();
	}
	/* On a busy machine the child may not have run before. */
	CHECK(read(ends[0], &begun, 1) == 1);
	usleep(10000);
	CHECK(kill(pid, SIGKILL) == 0);
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
}

int main(void)
{
	struct sigaction action = {.sa_handler = jump};

	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
	for (int i = 0; i < 5; i++) {
		run(jump_to_itself);
		run(two_jumps);
	}
	kill_in_one();
	CHECK(jumps == 10);
	printf("endless %d\n", jumps);
	return 0;
}
