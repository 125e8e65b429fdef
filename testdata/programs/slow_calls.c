/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Serves 200 requests. Every twentieth request is slow, for the reason that the argument names: "data" (a long chain in a
 * hash table), "lock" (a thread holds a mutex), "branch" (a flag of the request), "callee" (a call through a pointer).
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define REQUESTS 200
#define SLOW_EVERY 20
#define BUCKETS 64
#define CHAIN 20000
#define HELD_NANOSECONDS 20000000

struct entry {
	struct entry *next;
	unsigned key, value;
};

struct request {
	unsigned key;
	unsigned flags;
	unsigned (*finish)(unsigned value);
};

#define VERIFY 4u

static struct entry *table[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int wanted, held;
static unsigned total;

static void add_entry(unsigned bucket, unsigned key)
{
	struct entry *entry = malloc(sizeof(*entry));

	if (!entry)
		abort();
	*entry = (struct entry){table[bucket], key, key * 3};
	table[bucket] = entry;
}

__attribute__((noinline, noclone)) static unsigned find_entry(unsigned key)
{
	const struct entry *entry = table[key % BUCKETS];

	while (entry && entry->key != key)
		entry = entry->next; /* the long chain */
	return entry ? entry->value : 0;
}

__attribute__((noinline, noclone)) static unsigned verify_value(unsigned value)
{
	for (unsigned i = 0; i < CHAIN; i++)
		value = value * 1664525u + 1013904223u;
	return value;
}

__attribute__((noinline, noclone)) static unsigned finish_quickly(unsigned value)
{
	return value + 1;
}

__attribute__((noinline, noclone)) static unsigned finish_thoroughly(unsigned value)
{
	return verify_value(value) + 1;
}

__attribute__((noinline, noclone)) static void add_to_total(unsigned value)
{
	pthread_mutex_lock(&lock); /* the lock that the other thread holds */
	total += value;
	pthread_mutex_unlock(&lock);
}

__attribute__((noinline, noclone)) static unsigned serve(const struct request *request)
{
	unsigned value = find_entry(request->key);

	if (request->flags & VERIFY) /* the branch that decides */
		value = verify_value(value);
	value = request->finish(value);
	add_to_total(value);
	return value;
}

/* Holds the lock for a while, whenever the main thread asks for it. */
static void *hold_lock(void *unused)
{
	const struct timespec pause = {.tv_nsec = HELD_NANOSECONDS};

	for (;;) {
		pthread_mutex_lock(&turn);
		while (!wanted)
			pthread_cond_wait(&changed, &turn);
		if (wanted < 0)
			break;
		wanted = 0;
		pthread_mutex_lock(&lock);
		held = 1;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&turn);
		nanosleep(&pause, NULL);
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_unlock(&turn);
	return unused;
}

/* Sets `wanted`; waits until the other thread has the lock. */
static void ask(int value)
{
	pthread_mutex_lock(&turn);
	wanted = value;
	held = 0;
	pthread_cond_broadcast(&changed);
	while (value > 0 && !held)
		pthread_cond_wait(&changed, &turn);
	pthread_mutex_unlock(&turn);
}

int main(int argc, char **argv)
{
	const char *reason = argc > 1 ? argv[1] : "data";
	pthread_t thread;
	unsigned sum = 0;

	for (unsigned i = 0; i < BUCKETS; i++)
		add_entry(i, i);
	for (unsigned i = 0; i < CHAIN; i++)
		add_entry(7, 7 + BUCKETS * (i + 1));
	pthread_create(&thread, NULL, hold_lock, NULL);
	for (unsigned i = 0; i < REQUESTS; i++) {
		const int slow = i % SLOW_EVERY == SLOW_EVERY - 1;
		struct request request = {.key = 8 + i % 40, .flags = i & 3, .finish = finish_quickly};

		if (slow && !strcmp(reason, "data"))
			request.key = 7;
		if (slow && !strcmp(reason, "branch"))
			request.flags |= VERIFY;
		if (slow && !strcmp(reason, "callee"))
			request.finish = finish_thoroughly;
		if (slow && !strcmp(reason, "lock"))
			ask(1);
		sum += serve(&request);
	}
	ask(-1);
	pthread_join(thread, NULL);
	printf("%u\n", sum + total);
	return 0;
}
