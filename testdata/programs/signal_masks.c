/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints what a program sees of its signals: blocked ones by the system call, and blocked, caught and ignored ones by /proc. At the
 * start, in handlers, around calls that wait with another mask, in a new thread, in children of fork and vfork, and behind exec.
 * Native runs and recorded ones print the same.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>

#include "subtests.h"

static char self[4096];
extern char **environ;

static uint64_t blocked(void)
{
	uint64_t mask = 0;

	CHECK(syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, sizeof(mask)) == 0);
	return mask;
}

/* Prints lines of a status file without signals 32 and 33: the C library uses both, and a recorder's library, too. */
static void print_file(const char *where, const char *path)
{
	FILE *file = fopen(path, "r");
	char line[256];

	CHECK(file);
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, "SigBlk:", 7) || !strncmp(line, "SigIgn:", 7) || !strncmp(line, "SigCgt:", 7))
			printf("%s: %.7s %016llx\n", where, line, strtoull(line + 7, NULL, 16) & ~(3ull << 31));
	fclose(file);
}

static void print_all(const char *where)
{
	char path[64];

	printf("%s: %016llx\n", where, (unsigned long long)blocked());
	print_file(where, "/proc/self/status");
	print_file(where, "/proc/thread-self/status");
	snprintf(path, sizeof(path), "/proc/%d/status", (int)getpid());
	print_file(where, path);
	fflush(stdout);
}

static void set_mask(int how, int first, int second)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, first);
	if (second)
		sigaddset(&set, second);
	CHECK(pthread_sigmask(how, &set, NULL) == 0);
}

static void wait_for(pid_t pid)
{
	int status;

	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

static const char *place;
static sigjmp_buf back;
static volatile int *volatile nowhere = (volatile int *)8;

static void print_mask(int number, siginfo_t *info, void *context)
{
	const ucontext_t *before = context;
	uint64_t mask;

	(void)info;
	memcpy(&mask, &before->uc_sigmask, sizeof(mask));
	printf("%s: in the handler of %d: %016llx, before: %016llx\n", place, number, (unsigned long long)blocked(),
	       (unsigned long long)mask);
}

static void print_status(int number, siginfo_t *info, void *context)
{
	print_mask(number, info, context);
	print_all(place);
}

static void jump(int number, siginfo_t *info, void *context)
{
	print_mask(number, info, context);
	siglongjmp(back, 1);
}

/* The handler's own mask has two more signals. */
static void install(int number, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};

	sigaddset(&action.sa_mask, SIGWINCH);
	sigaddset(&action.sa_mask, SIGRTMIN + 3);
	CHECK(sigaction(number, &action, NULL) == 0);
}

static void in_handlers(void)
{
	place = "raise";
	set_mask(SIG_BLOCK, SIGUSR2, 0);
	install(SIGUSR1, print_status, 0);
	raise(SIGUSR1);
	install(SIGUSR1, print_mask, SA_NODEFER);
	raise(SIGUSR1);
	install(SIGUSR1, print_mask, SA_RESETHAND);
	raise(SIGUSR1);
	print_all("afterwards");
	place = "fault";
	install(SIGSEGV, jump, 0);
	install(SIGILL, jump, SA_NODEFER);
	if (!sigsetjmp(back, 1))
		*nowhere = 1;
	print_all("afterwards");
	if (!sigsetjmp(back, 0))
		__asm__ volatile("ud2");
	print_all("afterwards");
}

/* Two signals at once: the second handler interrupts the first, or waits for it, by its mask. */
static void together(void)
{
	place = "together";
	set_mask(SIG_BLOCK, SIGUSR1, SIGUSR2);
	install(SIGUSR1, print_mask, 0);
	install(SIGUSR2, print_mask, 0);
	install(SIGWINCH, print_mask, 0);
	raise(SIGUSR2);
	raise(SIGUSR1);
	raise(SIGWINCH);
	set_mask(SIG_UNBLOCK, SIGUSR1, SIGUSR2);
	print_all("afterwards");
}

/* Calls that wait with a mask of their own. The handler runs with that mask, and its own signals. */
static void waiting(void)
{
	struct timespec second = {.tv_sec = 5};
	struct epoll_event event;
	struct pollfd none = {.fd = -1};
	int epoll = epoll_create1(0);
	sigset_t mask;

	install(SIGUSR1, print_mask, 0);
	install(SIGUSR2, print_mask, 0);
	set_mask(SIG_BLOCK, SIGUSR1, SIGUSR2);
	set_mask(SIG_BLOCK, SIGRTMIN + 5, SIGTSTP);
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR2);
	sigaddset(&mask, SIGHUP);
	place = "sigsuspend";
	raise(SIGUSR1);
	CHECK(sigsuspend(&mask) == -1 && errno == EINTR);
	print_all(place);
	place = "ppoll";
	raise(SIGUSR1);
	CHECK(ppoll(&none, 1, &second, &mask) == -1 && errno == EINTR);
	print_all(place);
	place = "pselect";
	raise(SIGUSR1);
	CHECK(pselect(0, NULL, NULL, NULL, &second, &mask) == -1 && errno == EINTR);
	print_all(place);
	place = "epoll_pwait";
	raise(SIGUSR1);
	CHECK(epoll_pwait(epoll, &event, 1, 5000, &mask) == -1 && errno == EINTR);
	print_all(place);
	/* Both may come: the second handler interrupts the first before its first instruction. */
	sigemptyset(&mask);
	place = "two at once";
	raise(SIGUSR1);
	raise(SIGUSR2);
	CHECK(sigsuspend(&mask) == -1 && errno == EINTR);
	print_all(place);
}

/* The signal comes while the call waits, from a child. */
static void waiting_longer(void)
{
	struct timespec seconds = {.tv_sec = 20};
	struct pollfd none = {.fd = -1};
	pid_t parent = getpid();
	sigset_t mask;

	install(SIGUSR1, print_mask, 0);
	set_mask(SIG_BLOCK, SIGUSR1, SIGUSR2);
	sigemptyset(&mask);
	sigaddset(&mask, SIGHUP);
	for (int i = 0; i < 2; i++) {
		pid_t child = fork();

		if (!child) {
			usleep(50000);
			kill(parent, SIGUSR1);
			_exit(0);
		}
		place = i ? "ppoll, waiting" : "sigsuspend, waiting";
		CHECK((i ? ppoll(&none, 1, &seconds, &mask) : sigsuspend(&mask)) == -1 && errno == EINTR);
		print_all(place);
		wait_for(child);
	}
}

static void *print_thread(void *argument)
{
	/* The first thread waits by then: its mask is in /proc/self/status. */
	usleep(100000);
	print_all("a new thread");
	set_mask(SIG_BLOCK, SIGHUP, 0);
	print_all("the thread's own mask");
	return argument;
}

static void in_thread(void)
{
	pthread_t thread;

	set_mask(SIG_BLOCK, SIGUSR2, SIGRTMIN + 1);
	install(SIGUSR1, print_mask, 0);
	CHECK(pthread_create(&thread, NULL, print_thread, NULL) == 0 && pthread_join(thread, NULL) == 0);
	print_all("the first thread");
}

/* Blocked, ignored and caught signals; what of them a new program still has. */
static void prepare(void)
{
	set_mask(SIG_BLOCK, SIGUSR2, SIGRTMIN + 1);
	install(SIGUSR1, print_mask, 0);
	install(SIGSEGV, jump, 0);
	CHECK(signal(SIGHUP, SIG_IGN) != SIG_ERR && signal(SIGFPE, SIG_IGN) != SIG_ERR);
	CHECK(signal(SIGCHLD, SIG_DFL) != SIG_ERR && signal(SIGCONT, SIG_IGN) != SIG_ERR);
}

static void in_children(void)
{
	pid_t pid;

	prepare();
	print_all("before fork");
	pid = fork();
	if (!pid) {
		print_all("a child of fork");
		_exit(0);
	}
	wait_for(pid);
	pid = vfork();
	if (!pid) {
		execl(self, self, "print", "behind vfork and exec", NULL);
		_exit(1);
	}
	wait_for(pid);
	print_all("the parent");
}

static void behind_exec(void)
{
	prepare();
	print_all("before exec");
	execl("/nonexistent/program", self, NULL);
	print_all("behind an exec that failed");
	execl(self, self, "print", "behind exec", NULL);
}

static void by_spawn(void)
{
	char *arguments[] = {self, (char *)"print", (char *)"by spawn", NULL};
	posix_spawnattr_t attributes;
	sigset_t mask, defaults;
	pid_t pid;

	prepare();
	sigemptyset(&mask);
	sigaddset(&mask, SIGALRM);
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGHUP);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attributes, &mask);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	CHECK(posix_spawn(&pid, self, NULL, &attributes, arguments, environ) == 0);
	wait_for(pid);
	print_all("afterwards");
}

int main(int argc, char **argv)
{
	static const struct subtest tests[] = {
		SUBTEST(in_handlers), SUBTEST(together),    SUBTEST(waiting),     SUBTEST(waiting_longer),
		SUBTEST(in_thread),   SUBTEST(in_children), SUBTEST(behind_exec), SUBTEST(by_spawn),
	};

	if (argc == 3 && !strcmp(argv[1], "print")) {
		print_all(argv[2]);
		return 0;
	}
	CHECK(realpath(argv[0], self));
	print_all("the start");
	return run_subtests(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
