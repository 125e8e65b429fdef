/* SPDX-License-Identifier: BSD-2-Clause */
/* Forks while another thread continuously starts and ends threads; each child starts a thread, too. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static atomic_bool stop;

static void *nothing(void *argument)
{
	return argument;
}

static void one_thread(void)
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, nothing, NULL) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
}

/* At most as many threads as slots of a recorder that lags behind: 1024 by default. */
static void *many_threads(void *argument)
{
	for (int i = 0; i < 900 && !stop; i++)
		one_thread();
	return argument;
}

int main(void)
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, many_threads, NULL) == 0);
	for (int i = 0; i < 15; i++) {
		int status;
		pid_t child;

		one_thread();
		child = fork();
		if (child == 0) {
			one_thread();
			_exit(i);
		}
		CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == i);
	}
	stop = true;
	CHECK(pthread_join(thread, NULL) == 0);
	return 0;
}
