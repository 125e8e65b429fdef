/* SPDX-License-Identifier: BSD-2-Clause */
/* The second of three threads ends the process by a signal. Argument: segv, abort, term, trap or general. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int *volatile nowhere = (int *)0x1238;
static volatile long *volatile noncanonical = (volatile long *)0x8000000000001238;

static void *end(void *how)
{
	printf("%ld\n", syscall(SYS_gettid));
	fflush(stdout);
	if (!strcmp(how, "segv"))
		*nowhere = 1;
	else if (!strcmp(how, "general"))
		*noncanonical = 1;
	else if (!strcmp(how, "abort"))
		abort();
	else if (!strcmp(how, "trap"))
		__asm__ volatile("int3");
	else
		raise(SIGTERM);
	return NULL;
}

static void *wait_forever(void *unused)
{
	(void)unused;
	for (;;)
		usleep(1000);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t first, second;

	if (argc != 2)
		return 2;
	pthread_create(&first, NULL, wait_forever, NULL);
	pthread_create(&second, NULL, end, argv[1]);
	pthread_join(second, NULL);
	return 1;
}
