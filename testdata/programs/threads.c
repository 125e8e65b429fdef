/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads with different work at the same time. Threads start other threads, pass a token around, end by pthread_exit,
 * and still run when main leaves by exit().
 */
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static void *count_primes(void *argument)
{
	unsigned limit = (unsigned)(uintptr_t)argument;
	uintptr_t primes = 0;

	for (unsigned n = 2; n < limit; n++) {
		unsigned d = 2;

		while (d * d <= n && n % d)
			d++;
		primes += d * d > n;
	}
	return (void *)primes;
}

static void *sort_numbers(void *argument)
{
	unsigned numbers[300];
	unsigned n = (unsigned)(uintptr_t)argument;

	for (unsigned i = 0; i < n; i++)
		numbers[i] = i * 2654435761u;
	for (unsigned i = 1; i < n; i++)
		for (unsigned j = i; j && numbers[j] < numbers[j - 1]; j--) {
			unsigned t = numbers[j];

			numbers[j] = numbers[j - 1];
			numbers[j - 1] = t;
		}
	for (unsigned i = 1; i < n; i++)
		CHECK(numbers[i - 1] <= numbers[i]);
	pthread_exit((void *)(uintptr_t)(numbers[0] % 1000));
}

static void *format_text(void *argument)
{
	char line[64];
	uintptr_t sum = 0;

	for (unsigned i = 0; i < 200; i++) {
		snprintf(line, sizeof(line), "%s %u %x", (const char *)argument, i, i * 77);
		sum += strlen(line);
	}
	return (void *)sum;
}

static void *start_others(void *argument)
{
	pthread_t thread;
	void *result;
	uintptr_t depth = (uintptr_t)argument;

	if (!depth)
		return NULL;
	CHECK(pthread_create(&thread, NULL, start_others, (void *)(depth - 1)) == 0);
	CHECK(pthread_join(thread, &result) == 0);
	return (void *)((uintptr_t)result + depth);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static unsigned token;

static void *pass_token(void *argument)
{
	unsigned self = (unsigned)(uintptr_t)argument;

	pthread_mutex_lock(&lock);
	while (token < 300) {
		if (token % 3 != self) {
			pthread_cond_wait(&turn, &lock);
			continue;
		}
		token++;
		pthread_cond_broadcast(&turn);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

static volatile int stop; /* never set: makes a branch whose direction the packets report */

static void *forever(void *argument)
{
	volatile unsigned *count = argument;

	do {
		/*
		 * Two blocks per turn: for a block that follows itself, the number of turns before the death is
		 * uncertain.
		 */
		if (++*count & 1)
			++*count;
	} while (!stop);
	return NULL;
}

int main(void)
{
	static unsigned count;
	pthread_t thread[8];
	void *result[8];

	CHECK(pthread_create(&thread[0], NULL, count_primes, (void *)5000) == 0);
	CHECK(pthread_create(&thread[1], NULL, sort_numbers, (void *)300) == 0);
	CHECK(pthread_create(&thread[2], NULL, format_text, (void *)"line") == 0);
	CHECK(pthread_create(&thread[3], NULL, start_others, (void *)6) == 0);
	for (uintptr_t i = 0; i < 3; i++)
		CHECK(pthread_create(&thread[4 + i], NULL, pass_token, (void *)i) == 0);
	for (unsigned i = 0; i < 7; i++)
		CHECK(pthread_join(thread[i], &result[i]) == 0);
	CHECK((uintptr_t)result[0] == 669);
	CHECK((uintptr_t)result[3] == 21);
	CHECK(pthread_create(&thread[7], NULL, forever, &count) == 0);
	while (!*(volatile unsigned *)&count)
		usleep(100);
	printf("threads %lu %lu %lu\n", (unsigned long)result[0], (unsigned long)result[1], (unsigned long)result[2]);
	return 0;
}
