/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads named in all possible ways; one thread starts with its creator's name. */
#include <pthread.h>
#include <semaphore.h>
#include <sys/prctl.h>

#include "check.h"

static sem_t stay;

static void *wait_for_name(void *unused)
{
	sem_wait(&stay);
	return unused;
}

static void *by_prctl(void *unused)
{
	prctl(PR_SET_NAME, "by-prctl, and this does not fit");
	prctl(PR_SET_NAME, "by-prctl");
	return unused;
}

static void *by_pthread(void *unused)
{
	pthread_setname_np(pthread_self(), "by-pthread");
	return unused;
}

static void *creates(void *unused)
{
	pthread_t heir;

	sem_wait(&stay);
	CHECK(pthread_create(&heir, NULL, wait_for_name, NULL) == 0);
	sem_post(&stay);
	pthread_join(heir, NULL);
	return unused;
}

int main(void)
{
	pthread_t thread;

	sem_init(&stay, 0, 0);
	CHECK(pthread_create(&thread, NULL, by_prctl, NULL) == 0);
	pthread_join(thread, NULL);
	CHECK(pthread_create(&thread, NULL, by_pthread, NULL) == 0);
	pthread_join(thread, NULL);
	CHECK(pthread_create(&thread, NULL, creates, NULL) == 0);
	CHECK(pthread_setname_np(thread, "by-another") == 0);
	sem_post(&stay);
	pthread_join(thread, NULL);
	prctl(PR_SET_NAME, "main-renamed");
	return 0;
}
