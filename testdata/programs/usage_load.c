/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * usage_load KIND ...: programs with a planted fault of the use of CPUs and disks.
 *   wait MILLISECONDS     two processes on one CPU: "victim" runs for so long, while "hog" has a higher priority
 *   lock ROUNDS           "last" waits for a lock of "middle", which waits for a lock of "holder", which sleeps 5 ms
 *   disk FILE COUNT       writes and syncs COUNT times 64 KiB to FILE, and reads them from the disk
 * Prints lines "KEY VALUE ...": what the program measured itself.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BLOCK ((size_t)64 << 10)

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static double seconds(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Prints a file of /proc in a line, read by a single call. */
static void print_file(const char *key, const char *path)
{
	char text[4096];
	const int fd = open(path, O_RDONLY);
	const ssize_t size = read(fd, text, sizeof(text) - 1);

	if (fd < 0 || size < 0)
		fail(path);
	close(fd);
	text[size] = 0;
	for (char *at = text; *at; at++)
		if (*at == '\n')
			*at = ' ';
	printf("%s %zd %s\n", key, size, text);
	fflush(stdout);
}

/* ---- wait ---------------------------------------------------------------------------------------- */

static void stay_on_one_cpu(void)
{
	cpu_set_t allowed, one;

	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		fail("sched_getaffinity");
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed) && !CPU_COUNT(&one))
			CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) < 0)
		fail("sched_setaffinity");
}

static pid_t begin_hog(void)
{
	const pid_t child = fork();

	if (child < 0)
		fail("fork");
	if (child)
		return child;
	prctl(PR_SET_NAME, "hog");
	for (;;)
		(void)seconds(CLOCK_MONOTONIC);
}

static int plant_wait(double duration)
{
	pid_t hog;

	stay_on_one_cpu();
	hog = begin_hog();
	prctl(PR_SET_NAME, "victim");
	if (setpriority(PRIO_PROCESS, 0, 10) < 0)
		fail("setpriority");
	printf("victim %d\nhog %d\n", (int)getpid(), (int)hog);
	while (seconds(CLOCK_PROCESS_CPUTIME_ID) < duration)
		;
	print_file("schedstat", "/proc/self/schedstat");
	print_file("status", "/proc/self/status");
	kill(hog, SIGKILL);
	waitpid(hog, NULL, 0);
	return 0;
}

/* ---- lock ---------------------------------------------------------------------------------------- */

static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER, outer = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t round_begins, inner_is_held, outer_is_held;
static int rounds;

static void pause_for(long nanoseconds)
{
	const struct timespec time = {0, nanoseconds};

	nanosleep(&time, NULL);
}

static void *hold(void *context)
{
	prctl(PR_SET_NAME, "holder");
	for (int i = 0; i < rounds; i++) {
		pthread_barrier_wait(&round_begins);
		pthread_mutex_lock(&inner);
		pthread_barrier_wait(&inner_is_held);
		pause_for(5000000);
		pthread_mutex_unlock(&inner);
	}
	return context;
}

static void *wait_between(void *context)
{
	prctl(PR_SET_NAME, "middle");
	for (int i = 0; i < rounds; i++) {
		pthread_barrier_wait(&round_begins);
		pthread_barrier_wait(&inner_is_held);
		pthread_mutex_lock(&outer);
		pthread_barrier_wait(&outer_is_held);
		pthread_mutex_lock(&inner);
		pthread_mutex_unlock(&inner);
		pthread_mutex_unlock(&outer);
	}
	return context;
}

static void *wait_last(void *context)
{
	prctl(PR_SET_NAME, "last");
	for (int i = 0; i < rounds; i++) {
		pthread_barrier_wait(&round_begins);
		pthread_barrier_wait(&outer_is_held);
		pthread_mutex_lock(&outer);
		pthread_mutex_unlock(&outer);
	}
	return context;
}

static int plant_lock(int count)
{
	static void *(*const functions[])(void *context) = {hold, wait_between, wait_last};
	pthread_t threads[3];

	rounds = count;
	pthread_barrier_init(&round_begins, NULL, 3);
	pthread_barrier_init(&inner_is_held, NULL, 2);
	pthread_barrier_init(&outer_is_held, NULL, 2);
	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, functions[i], NULL))
			fail("pthread_create");
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

/* ---- disk ---------------------------------------------------------------------------------------- */

static int open_file(const char *path, int flags)
{
	const int fd = open(path, flags, 0600);

	if (fd < 0)
		fail(path);
	return fd;
}

static int plant_disk(const char *path, int count)
{
	void *block;
	int fd;

	if (posix_memalign(&block, BLOCK, BLOCK))
		fail("posix_memalign");
	memset(block, 'x', BLOCK);
	printf("pid %d\n", (int)getpid());
	print_file("before", "/proc/self/io");
	fd = open_file(path, O_CREAT | O_TRUNC | O_WRONLY);
	printf("written %d\n", fd);
	for (int i = 0; i < count; i++)
		if (write(fd, block, BLOCK) != (ssize_t)BLOCK || fdatasync(fd) < 0)
			fail(path);
	close(fd);
	/* Another descriptor, so that reads and writes are told apart. */
	if (dup(0) < 0)
		fail("dup");
	fd = open_file(path, O_RDONLY | O_DIRECT);
	printf("read %d\n", fd);
	for (int i = 0; i < count; i++)
		if (pread(fd, block, BLOCK, (off_t)i * (off_t)BLOCK) != (ssize_t)BLOCK)
			fail(path);
	close(fd);
	fflush(stdout);
	print_file("after", "/proc/self/io");
	free(block);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "wait"))
		return plant_wait(strtod(argv[2], NULL) / 1000);
	if (argc == 3 && !strcmp(argv[1], "lock"))
		return plant_lock((int)strtol(argv[2], NULL, 10));
	if (argc == 4 && !strcmp(argv[1], "disk"))
		return plant_disk(argv[2], (int)strtol(argv[3], NULL, 10));
	return 2;
}
