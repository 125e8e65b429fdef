/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A static program at fixed addresses: no dynamic linker, IRELATIVE relocations, stdio, a thread,
 * fork.
 */
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static void *length(void *argument)
{
	return (void *)strlen(argument);
}

int main(void)
{
	char text[1000];
	volatile double angle = 0.5;
	pthread_t thread;
	void *result;
	int status;
	pid_t pid;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	CHECK(pthread_create(&thread, NULL, length, text) == 0);
	CHECK(pthread_join(thread, &result) == 0);
	CHECK((size_t)result == sizeof(text) - 1);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		_exit((int)(sin(angle) * 100));
	CHECK(waitpid(pid, &status, 0) == pid);
	printf("static %d\n", WEXITSTATUS(status));
	return 0;
}
