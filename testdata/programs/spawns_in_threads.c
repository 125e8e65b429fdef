/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads start programs by vfork all the time, when the main thread reaches a function for --start-at: a thread in vfork does
 * not stop before its child goes on.
 */
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 6

extern char **environ;

static atomic_int stop;

__attribute__((noinline)) static void reached_by_main(void)
{
	__asm__ volatile("");
}

static void *spawn(void *failures)
{
	char *arguments[] = {(char *)"true", NULL};

	while (!atomic_load(&stop)) {
		pid_t child;
		int status = -1;

		if (posix_spawnp(&child, "true", NULL, NULL, arguments, environ) == 0)
			waitpid(child, &status, 0);
		*(int *)failures += status != 0;
	}
	return NULL;
}

int main(void)
{
	int failures[THREADS] = {0};
	pthread_t threads[THREADS];
	int sum = 0;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, spawn, &failures[i]);
	usleep(100000);
	reached_by_main();
	usleep(50000);
	atomic_store(&stop, 1);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		sum += failures[i];
	}
	printf("%d failures\n", sum);
	return sum != 0;
}
