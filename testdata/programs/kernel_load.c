/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_load KIND RATE SECONDS REPORT: causes events of the kernel, RATE per second for SECONDS, and writes the number
 * to the file REPORT. KIND:
 *   syscalls   system calls, by one thread
 *   switches   switches from one thread to another, on one CPU
 *   processes  processes that end at once
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAUSE 500000 /* nanoseconds between readings of the clock */

static int there, back; /* descriptors for forcing switches */

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void pass(int fd)
{
	const uint64_t one = 1;

	if (write(fd, &one, sizeof(one)) != sizeof(one))
		abort();
}

static void await(int fd)
{
	uint64_t number;

	if (read(fd, &number, sizeof(number)) != sizeof(number))
		abort();
}

static void *answer(void *context)
{
	for (;;) {
		await(there);
		pass(back);
	}
	return context;
}

static void start_switches(void)
{
	pthread_t thread;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	there = eventfd(0, 0);
	back = eventfd(0, 0);
	if (sched_setaffinity(0, sizeof(one), &one) < 0 || there < 0 || back < 0 ||
	    pthread_create(&thread, NULL, answer, NULL))
		abort();
}

static void make_syscall(void)
{
	syscall(SYS_getppid);
}

static void make_switch(void)
{
	pass(there);
	await(back);
}

static void make_process(void)
{
	const pid_t child = vfork();

	if (child < 0)
		abort();
	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
}

static const struct kind {
	const char *name;
	void (*start)(void);
	void (*make)(void);
	unsigned events; /* events per call */
} kinds[] = {
	{"syscalls", NULL, make_syscall, 1},
	{"switches", start_switches, make_switch, 2},
	{"processes", NULL, make_process, 1},
};

/* Each pause also makes a reported system call and a switch. */
static unsigned long long run(const struct kind *kind, double rate, double seconds)
{
	const struct timespec pause = {.tv_nsec = PAUSE};
	const unsigned long long all = (unsigned long long)(rate * seconds / kind->events);
	const double start = now();
	unsigned long long done = 0, pauses = 0;

	while (done < all) {
		const double passed = now() - start;
		unsigned long long due = (unsigned long long)(passed * rate / kind->events);

		for (due = due < all ? due : all; done < due; done++)
			kind->make();
		nanosleep(&pause, NULL);
		pauses++;
	}
	return pauses;
}

static double seconds_of(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

int main(int argc, char **argv)
{
	const struct kind *kind = NULL;
	unsigned long long pauses;
	struct rusage usage;
	double start, took;
	FILE *report;

	for (size_t i = 0; argc == 5 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(argv[1], kinds[i].name))
			kind = &kinds[i];
	if (!kind) {
		fputs("usage: kernel_load syscalls|switches|processes RATE SECONDS REPORT\n", stderr);
		return 2;
	}
	if (kind->start)
		kind->start();
	start = now();
	pauses = run(kind, strtod(argv[2], NULL), strtod(argv[3], NULL));
	took = now() - start;
	report = fopen(argv[4], "w");
	getrusage(RUSAGE_SELF, &usage);
	if (!report)
		return 1;
	fprintf(report,
		"{\"seconds\": %.3f, \"user\": %.3f, \"system\": %.3f, \"made\": %llu, \"pauses\": %llu, \"switches\": "
		"%ld}\n",
		took, seconds_of(usage.ru_utime), seconds_of(usage.ru_stime),
		(unsigned long long)(strtod(argv[2], NULL) * strtod(argv[3], NULL)), pauses,
		usage.ru_nvcsw + usage.ru_nivcsw);
	return fclose(report) ? 1 : 0;
}
