/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program for attaching. "attached calls SECONDS": threads wait in system calls of all kinds, and report how the
 * calls ended; "attached signals SECONDS": a timer's signals; "attached phases": three functions in turn.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int seconds;
static double beginning;
static int pipe_ends[2];
static volatile int ending;
static volatile sig_atomic_t signals_handled;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void on_signal(int signal)
{
	(void)signal;
	signals_handled++;
}

/* ---- calls: 0, or what was wrong --------------------------------------------------------------- */

static int in_nanosleep(void)
{
	const struct timespec time = {seconds, 0};

	return nanosleep(&time, NULL) ? errno : 0;
}

static int in_absolute_nanosleep(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	time.tv_sec += seconds;
	return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

static int in_read(void)
{
	char byte = 0;

	return read(pipe_ends[0], &byte, 1) == 1 && byte == 'x' ? 0 : errno ? errno : -1;
}

static int in_poll(void)
{
	return poll(NULL, 0, seconds * 1000) ? errno : 0;
}

static int in_select(void)
{
	struct timeval time = {seconds, 0};

	return select(0, NULL, NULL, NULL, &time) ? errno : 0;
}

static int in_epoll(void)
{
	struct epoll_event event;

	return epoll_wait(epoll_create1(0), &event, 1, seconds * 1000) ? errno : 0;
}

static int in_condition(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
	struct timespec time;
	int result;

	clock_gettime(CLOCK_REALTIME, &time);
	time.tv_sec += seconds;
	pthread_mutex_lock(&mutex);
	result = pthread_cond_timedwait(&condition, &mutex, &time);
	pthread_mutex_unlock(&mutex);
	return result == ETIMEDOUT ? 0 : result;
}

static int in_sigtimedwait(void)
{
	const struct timespec time = {seconds, 0};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	return sigtimedwait(&set, NULL, &time) < 0 && errno == EAGAIN ? 0 : errno;
}

static int in_semaphore(void)
{
	const int id = semget(IPC_PRIVATE, 1, 0600);
	struct sembuf operation = {0, -1, 0};
	const struct timespec time = {seconds, 0};
	const int result = semtimedop(id, &operation, 1, &time) < 0 && errno == EAGAIN ? 0 : errno;

	semctl(id, 0, IPC_RMID);
	return result;
}

static int in_pause(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	return pause() < 0 && errno == EINTR ? 0 : -1;
}

/* sigsuspend unblocks the signal, which is blocked otherwise. */
static int in_sigsuspend(void)
{
	sigset_t set;
	int result;

	sigfillset(&set);
	sigdelset(&set, SIGUSR1);
	result = sigsuspend(&set);
	pthread_sigmask(SIG_SETMASK, NULL, &set);
	return result < 0 && errno == EINTR && sigismember(&set, SIGUSR1) ? 0 : -1;
}

static int in_wait(void)
{
	const pid_t child = fork();
	int status = 0;

	if (child == 0) {
		sleep((unsigned)seconds);
		_exit(9);
	}
	return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 9 ? 0 : errno;
}

static int in_code(void)
{
	volatile uint64_t value = 1;

	while (!ending)
		value = value & 8 ? value * 3 + 1 : value ^ (value << 1 | 9);
	return 0;
}

static void *nothing(void *argument)
{
	return argument;
}

static int in_threads(void)
{
	while (!ending) {
		pthread_t thread;
		int result = pthread_create(&thread, NULL, nothing, NULL);

		if (result)
			return result;
		pthread_join(thread, NULL);
	}
	return 0;
}

static struct {
	const char *name;
	int (*run)(void);
	pthread_t thread;
	int result;
	bool early;
} calls[] = {
	{.name = "nanosleep", .run = in_nanosleep},
	{.name = "absolute nanosleep", .run = in_absolute_nanosleep},
	{.name = "read", .run = in_read},
	{.name = "poll", .run = in_poll},
	{.name = "select", .run = in_select},
	{.name = "epoll", .run = in_epoll},
	{.name = "condition", .run = in_condition},
	{.name = "sigtimedwait", .run = in_sigtimedwait},
	{.name = "semaphore", .run = in_semaphore},
	{.name = "pause", .run = in_pause},
	{.name = "sigsuspend", .run = in_sigsuspend},
	{.name = "wait", .run = in_wait},
	{.name = "code", .run = in_code},
	{.name = "threads", .run = in_threads},
};

#define CALLS (sizeof(calls) / sizeof(calls[0]))

static void *run_call(void *argument)
{
	const size_t i = (size_t)(uintptr_t)argument;

	calls[i].result = calls[i].run();
	calls[i].early = now() - beginning < seconds - 0.01;
	return NULL;
}

static int run_calls(void)
{
	struct sigaction action = {.sa_handler = on_signal};
	sigset_t set;
	int wrong = 0;

	sigaction(SIGUSR1, &action, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (pipe(pipe_ends))
		return 1;
	beginning = now();
	for (size_t i = 0; i < CALLS; i++)
		pthread_create(&calls[i].thread, NULL, run_call, (void *)(uintptr_t)i);
	while (now() - beginning < seconds)
		usleep(10000);
	if (write(pipe_ends[1], "x", 1) != 1)
		return 1;
	ending = 1;
	for (size_t i = 0; i < CALLS; i++)
		if (calls[i].run == in_pause || calls[i].run == in_sigsuspend)
			pthread_kill(calls[i].thread, SIGUSR1);
	for (size_t i = 0; i < CALLS; i++) {
		pthread_join(calls[i].thread, NULL);
		printf("%s: %s%s\n", calls[i].name, calls[i].result ? strerror(calls[i].result) : "as it should",
		       calls[i].early ? ", too early" : "");
		wrong += calls[i].result || calls[i].early;
	}
	printf("%d signals\n", (int)signals_handled);
	return wrong ? 1 : 5;
}

/* ---- signals ----------------------------------------------------------------------------------- */

/* A signal per millisecond, on a stack of its own. The program calculates, and sleeps a little. */
static int run_signals(void)
{
	static uint8_t stack[65536];
	const stack_t altstack = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_RESTART};
	const struct itimerval timer = {{0, 1000}, {0, 1000}};
	double sum = 0;

	sigaltstack(&altstack, NULL);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	beginning = now();
	for (unsigned round = 0; now() - beginning < seconds; round++) {
		double part = 0;

		for (int i = 1; i < 20000; i++)
			part += 1.0 / (i * (double)i);
		sum = round ? (sum == part ? sum : -1) : part;
		if (round % 16 == 0)
			usleep(1000);
	}
	printf("%.9f %s\n", sum, signals_handled > seconds * 20 ? "with signals" : "without signals");
	return 6;
}

/* ---- phases ------------------------------------------------------------------------------------ */

#define PHASE(name)                                                                                                    \
	__attribute__((noinline, noclone)) uint64_t name(uint64_t value)                                               \
	{                                                                                                              \
		for (unsigned i = 0; i < 3000; i++)                                                                    \
			value = value & 4 ? value * 5 + 3 : value + (value >> 3) + 1;                                  \
		return value;                                                                                          \
	}

uint64_t phase_first(uint64_t value);
uint64_t phase_second(uint64_t value);
uint64_t phase_third(uint64_t value);
PHASE(phase_first)
PHASE(phase_second)
PHASE(phase_third)

static int compare(const void *a, const void *b)
{
	return *(const char *)a - *(const char *)b;
}

static int run_phases(void)
{
	char letters[] = "phases";
	uint64_t value = phase_first(1);

	value = phase_second(phase_second(value));
	value = phase_third(value);
	qsort(letters, sizeof(letters) - 1, 1, compare);
	printf("%llx %s\n", (unsigned long long)value, letters);
	return 7;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	seconds = argc > 2 ? atoi(argv[2]) : 1;
	if (!strcmp(what, "calls"))
		return run_calls();
	if (!strcmp(what, "signals"))
		return run_signals();
	return run_phases();
}
