/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many calls in three threads, of which one blocks all signals. Every seventh pointer is null, every fifth text is no
 * address. With a second argument, a timer's signals interrupt the threads. Arguments: number of calls.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

#ifdef __clang__
#define NOT_INLINED __attribute__((noinline))
#else
#define NOT_INLINED __attribute__((noinline, noclone))
#endif

struct node {
	long value;
};

static volatile long hits;

static void on_signal(int number)
{
	(void)number;
	hits++;
}

NOT_INLINED long f(long i, struct node *p, const char *s)
{
	__asm__ volatile("" : : "r"(s));
	return i * 3 + (p ? p->value : -1);
}

static void *run(void *argument)
{
	const long count = (long)argument;
	struct node node = {0};
	sigset_t all;
	long sum = 0;

	sigfillset(&all);
	if (count & 1)
		pthread_sigmask(SIG_SETMASK, &all, NULL);
	for (long i = 0; i < count; i++) {
		node.value = i;
		sum += f(i, i % 7 ? &node : NULL, i % 5 ? "text" : (const char *)16);
	}
	return (void *)sum;
}

int main(int argc, char **argv)
{
	const struct itimerval often = {{0, 500}, {0, 500}};
	const long count = argc > 1 ? atol(argv[1]) : 100;
	pthread_t threads[3];
	long sum = 0;

	signal(SIGALRM, on_signal);
	if (argc > 2)
		setitimer(ITIMER_REAL, &often, NULL);
	for (long i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)(count + i)))
			return 2;
	for (int i = 0; i < 3; i++) {
		void *result;

		pthread_join(threads[i], &result);
		sum += (long)result;
	}
	printf("%ld\n", sum);
	return 0;
}
