/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A function that a forked child, several threads at once and a vfork child call, in this order. The program prints what
 * the calls return, and whether the function's first byte is int3 after the calls.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 7
#define INT3 0xcc

static _Atomic int go;
static long sums[THREADS];

__attribute__((noinline)) long reached(long x)
{
	__asm__ volatile("" ::: "memory");
	return x * 3 + 1;
}

static const char *state_of_code(void)
{
	return *(const volatile unsigned char *)(const void *)reached == INT3 ? "changed" : "unchanged";
}

static void *call_often(void *sum)
{
	while (!go)
		__asm__ volatile("pause");
	for (long i = 0; i < 20000; i++)
		*(long *)sum += reached(i);
	return NULL;
}

static int status_of(pid_t child)
{
	int status = -1;

	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void)
{
	pthread_t threads[THREADS];
	long sum = 0;
	pid_t child;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, call_often, &sums[i]);
	child = fork();
	if (child == 0) {
		printf("child %ld, code %s\n", reached(5), state_of_code());
		fflush(stdout);
		_exit(3);
	}
	printf("child's status %d\n", status_of(child));
	go = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < THREADS; i++)
		sum += sums[i];
	printf("threads %ld, code %s\n", sum, state_of_code());
	fflush(stdout);
	child = vfork();
	if (child == 0)
		_exit((int)reached(1));
	printf("vfork child's status %d\n", status_of(child));
	return 5;
}
