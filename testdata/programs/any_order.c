/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Four threads of one name do four different works, with a lock between them. The argument rotates the works among the
 * threads, as a scheduler might.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned total;

__attribute__((noinline)) static unsigned count_up(unsigned rounds)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < rounds; i++)
		sum = sum * 5 + i;
	return sum;
}

__attribute__((noinline)) static unsigned count_down(unsigned rounds)
{
	unsigned sum = 0;

	while (rounds--)
		sum = sum * 3 ^ rounds;
	return sum;
}

__attribute__((noinline)) static unsigned halve(unsigned value)
{
	unsigned steps = 0;

	for (; value > 1; value = value & 1 ? 3 * value + 1 : value / 2)
		steps++;
	return steps;
}

__attribute__((noinline)) static unsigned share(unsigned a, unsigned b)
{
	while (b) {
		const unsigned rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static void *work(void *which)
{
	unsigned value = 0;

	switch ((uintptr_t)which) {
	case 0:
		value = count_up(500);
		break;
	case 1:
		value = count_down(700);
		break;
	case 2:
		value = halve(97);
		break;
	default:
		value = share(10946, 6765);
	}
	for (int i = 0; i < 50; i++) {
		pthread_mutex_lock(&lock);
		total += value;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const unsigned rotation = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
	pthread_t threads[THREADS];

	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)((i + rotation) % THREADS));
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%u\n", total);
	return 0;
}
