/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Delivery of signals: interrupted and restarted system calls, waiting for signals, timers, storms of signals, masks,
 * alternate stacks, cancellation of threads, handlers left by siglongjmp or setcontext. Every test has one result.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>

#include "subtests.h"

static volatile sig_atomic_t count;
static sigjmp_buf back;
static volatile siginfo_t last;

static void note(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	count++;
	last = *info;
}

static void timer_after(long microseconds, long every)
{
	struct itimerval value = {.it_value.tv_usec = microseconds, .it_interval.tv_usec = every};

	CHECK(setitimer(ITIMER_REAL, &value, NULL) == 0);
}

static void block(int number)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
}

static void interrupted(void)
{
	struct timespec second = {.tv_sec = 5};
	struct pollfd none = {.fd = -1};
	int ends[2];
	char byte;

	CHECK(pipe(ends) == 0);
	install_action(SIGALRM, note, 0);
	timer_after(3000, 0);
	CHECK(read(ends[0], &byte, 1) == -1 && errno == EINTR && count == 1);
	timer_after(3000, 0);
	CHECK(nanosleep(&second, &second) == -1 && errno == EINTR && count == 2 && second.tv_sec == 4);
	timer_after(3000, 0);
	CHECK(poll(&none, 1, 5000) == -1 && errno == EINTR && count == 3);
	timer_after(3000, 0);
	CHECK(pause() == -1 && errno == EINTR && count == 4);
	timer_after(3000, 0);
	CHECK(epoll_wait(epoll_create1(0), &(struct epoll_event){0}, 1, 5000) == -1 && errno == EINTR && count == 5);
	timer_after(3000, 0);
	CHECK(syscall(SYS_futex, &(int){0}, 0, 0, NULL, NULL, 0) == -1 && errno == EINTR && count == 6);
}

static void *write_later(void *end)
{
	usleep(30000);
	CHECK(write(*(int *)end, "x", 1) == 1);
	return NULL;
}

/* SA_RESTART: read continues by itself after each of many signals. */
static void restarted(void)
{
	pthread_t thread;
	int ends[2];
	char byte;

	CHECK(pipe(ends) == 0);
	block(SIGALRM);
	CHECK(pthread_create(&thread, NULL, write_later, &ends[1]) == 0);
	install_action(SIGALRM, note, SA_RESTART);
	sigset_t set;
	sigemptyset(&set);
	CHECK(pthread_sigmask(SIG_SETMASK, &set, NULL) == 0);
	timer_after(1000, 1000);
	CHECK(read(ends[0], &byte, 1) == 1 && byte == 'x');
	timer_after(0, 0);
	CHECK(pthread_join(thread, NULL) == 0 && count > 3);
}

/* A signal without handler interrupts nothing, and a stopped process continues at the same place. */
static void ignored(void)
{
	struct timespec time = {.tv_nsec = 50000000};
	pid_t parent = getpid(), child;
	int status;

	signal(SIGUSR1, SIG_IGN);
	child = fork();
	if (!child) {
		for (int i = 0; i < 20; i++) {
			kill(parent, SIGUSR1);
			usleep(500);
		}
		kill(parent, SIGCONT);
		_exit(0);
	}
	CHECK(nanosleep(&time, NULL) == 0);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void stop_and_go(void)
{
	int status;
	pid_t child = fork();

	if (!child) {
		volatile uint64_t sum = 0;

		for (;;)
			sum += 1;
	}
	for (int i = 0; i < 5; i++) {
		CHECK(kill(child, SIGSTOP) == 0);
		CHECK(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
		CHECK(kill(child, SIGCONT) == 0);
		CHECK(waitpid(child, &status, WCONTINUED) == child && WIFCONTINUED(status));
	}
	CHECK(kill(child, SIGTERM) == 0 && waitpid(child, &status, 0) == child && WTERMSIG(status) == SIGTERM);
}

static void waited(void)
{
	struct timespec second = {.tv_sec = 5};
	siginfo_t info;
	sigset_t set;
	int number;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGRTMIN + 3);
	CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
	CHECK(sigqueue(getpid(), SIGRTMIN + 3, (union sigval){.sival_int = 44}) == 0);
	CHECK(sigtimedwait(&set, &info, &second) == SIGRTMIN + 3);
	CHECK(info.si_value.sival_int == 44 && info.si_code == SI_QUEUE && info.si_pid == getpid());
	CHECK(raise(SIGUSR1) == 0 && sigwait(&set, &number) == 0 && number == SIGUSR1);
	second = (struct timespec){.tv_nsec = 1000000};
	CHECK(sigtimedwait(&set, &info, &second) == -1 && errno == EAGAIN);
	CHECK(raise(SIGUSR1) == 0);
	sigpending(&set);
	CHECK(sigismember(&set, SIGUSR1) == 1 && sigismember(&set, SIGUSR2) == 0);
}

static void by_descriptor(void)
{
	struct signalfd_siginfo info;
	sigset_t set;
	int file;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
	file = signalfd(-1, &set, 0);
	for (int i = 0; i < 20; i++) {
		CHECK(kill(getpid(), SIGUSR2) == 0);
		CHECK(read(file, &info, sizeof(info)) == sizeof(info) && info.ssi_signo == SIGUSR2);
		CHECK(info.ssi_pid == (uint32_t)getpid());
	}
}

static void *kill_often(void *thread)
{
	for (int i = 0; i < 500; i++) {
		int before = count;

		pthread_kill(*(pthread_t *)thread, SIGUSR1);
		while (count == before)
			sched_yield();
	}
	return NULL;
}

/* In many rounds the signal comes between the check and the wait: sigsuspend must not miss the signal. */
static void suspended(void)
{
	pthread_t thread, self = pthread_self();
	sigset_t none, set;

	sigemptyset(&none);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	install_action(SIGUSR1, note, 0);
	CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
	CHECK(pthread_create(&thread, NULL, kill_often, &self) == 0);
	for (int i = 0; i < 500; i++) {
		CHECK(sigsuspend(&none) == -1 && errno == EINTR);
		CHECK(count == i + 1);
	}
	CHECK(pthread_join(thread, NULL) == 0);
}

/* ppoll and pselect with a mask, likewise. */
static void polled(void)
{
	pthread_t thread, self = pthread_self();
	sigset_t none, set;

	sigemptyset(&none);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	install_action(SIGUSR1, note, 0);
	CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
	CHECK(pthread_create(&thread, NULL, kill_often, &self) == 0);
	for (int i = 0; i < 500; i++)
		CHECK(ppoll(NULL, 0, NULL, &none) == -1 && errno == EINTR && count == i + 1);
	CHECK(pthread_join(thread, NULL) == 0);
}

/* A signal every 50 microseconds while the program computes and makes system calls. */
static void storm(void)
{
	uint64_t value = 1, expected = 1;

	for (int i = 0; i < 3000000; i++)
		expected = expected * 6364136223846793005u + 1442695040888963407u;
	install_action(SIGALRM, note, 0);
	timer_after(50, 50);
	for (int i = 0; i < 3000000; i++) {
		value = value * 6364136223846793005u + 1442695040888963407u;
		if (!(i & 1023))
			CHECK(syscall(SYS_getppid) == getppid());
	}
	while (count < 100)
		;
	timer_after(0, 0);
	CHECK(value == expected);
}

/* A signal reaches loops of one and two instructions, and loops of calls and returns. */
static void tight_loops(void)
{
	install_action(SIGALRM, note, 0);
	timer_after(2000, 0);
	__asm__ volatile("1: cmpl $0, %0\n\tje 1b" ::"m"(count) : "cc");
	timer_after(2000, 0);
	__asm__ volatile("1: call 2f\n\tcmpl $1, %0\n\tje 1b\n\tjmp 3f\n2: ret\n3:" ::"m"(count) : "cc", "memory");
	timer_after(2000, 0);
	__asm__ volatile("lea 1f(%%rip), %%rax\n1: cmpl $2, %0\n\tjne 2f\n\tjmp *%%rax\n2:" ::"m"(count) : "rax", "cc");
	CHECK(count == 3);
}

static void out_of_loop(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
	siglongjmp(back, 1);
}

static void endless(void)
{
	install_action(SIGALRM, out_of_loop, 0);
	for (int i = 0; i < 30; i++) {
		if (sigsetjmp(back, 1) == 0) {
			timer_after(500, 0);
			__asm__ volatile("1: jmp 1b");
		}
		count++;
	}
	CHECK(count == 30);
}

/* A handler's mask, SA_NODEFER, SA_RESETHAND, and a mask changed by the handler in the context. */
static void mask_in_handler(int number, siginfo_t *info, void *context_)
{
	ucontext_t *context = context_;
	sigset_t now;

	(void)info;
	pthread_sigmask(SIG_BLOCK, NULL, &now);
	CHECK(sigismember(&now, number) == 1 && sigismember(&now, SIGUSR2) == 1);
	CHECK(sigismember(&context->uc_sigmask, number) == 0);
	sigaddset(&context->uc_sigmask, SIGHUP);
	count++;
}

static void masks(void)
{
	struct sigaction action = {.sa_sigaction = mask_in_handler, .sa_flags = SA_SIGINFO}, old;
	sigset_t now;

	sigaddset(&action.sa_mask, SIGUSR2);
	CHECK(sigaction(SIGUSR1, &action, NULL) == 0 && raise(SIGUSR1) == 0 && count == 1);
	pthread_sigmask(SIG_BLOCK, NULL, &now);
	CHECK(sigismember(&now, SIGHUP) == 1 && sigismember(&now, SIGUSR1) == 0 && sigismember(&now, SIGUSR2) == 0);
	CHECK(sigaction(SIGUSR1, NULL, &old) == 0 && old.sa_sigaction == mask_in_handler);
	CHECK(sigismember(&old.sa_mask, SIGUSR2) == 1 && (old.sa_flags & SA_SIGINFO));
	action.sa_flags |= SA_RESETHAND;
	CHECK(sigaction(SIGUSR1, &action, NULL) == 0 && raise(SIGUSR1) == 0 && count == 2);
	CHECK(sigaction(SIGUSR1, NULL, &old) == 0 && old.sa_handler == SIG_DFL);
}

static void on_which_stack(int number, siginfo_t *info, void *context)
{
	stack_t stack;

	note(number, info, context);
	CHECK(sigaltstack(NULL, &stack) == 0);
	CHECK(stack.ss_flags == SS_ONSTACK);
	CHECK((uintptr_t)&stack - (uintptr_t)stack.ss_sp < stack.ss_size);
	CHECK(sigaltstack(&stack, NULL) == -1 && errno == EPERM);
	if (number == SIGUSR1)
		raise(SIGUSR2);
}

static void alternate_stack(void)
{
	static char memory[65536];
	stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)}, now;

	CHECK(sigaltstack(&stack, NULL) == 0);
	install_action(SIGUSR1, on_which_stack, SA_ONSTACK);
	install_action(SIGUSR2, on_which_stack, SA_ONSTACK);
	CHECK(raise(SIGUSR1) == 0 && count == 2);
	CHECK(sigaltstack(NULL, &now) == 0 && now.ss_flags == 0 && now.ss_sp == (void *)memory);
}

static void *wait_forever(void *argument)
{
	pthread_cleanup_push((void (*)(void *))sem_post, argument);
	for (;;)
		pause();
	pthread_cleanup_pop(0);
	return NULL;
}

static void *compute_forever(void *argument)
{
	volatile uint64_t sum = 0;

	(void)argument;
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	for (;;)
		sum += 1;
	return NULL;
}

static void cancelled(void)
{
	pthread_t threads[10];
	sem_t ended;
	void *result;

	sem_init(&ended, 0, 0);
	for (int i = 0; i < 10; i++)
		CHECK(pthread_create(&threads[i], NULL, i % 2 ? wait_forever : compute_forever, &ended) == 0);
	usleep(2000);
	for (int i = 0; i < 10; i++)
		CHECK(pthread_cancel(threads[i]) == 0);
	for (int i = 0; i < 10; i++)
		CHECK(pthread_join(threads[i], &result) == 0 && result == PTHREAD_CANCELED);
	for (int i = 0; i < 5; i++)
		CHECK(sem_wait(&ended) == 0);
}

static void reap(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		count++;
}

static void children(void)
{
	install_action(SIGCHLD, reap, SA_RESTART);
	for (int i = 0; i < 100; i++) {
		pid_t child = fork();

		if (!child)
			_exit(0);
		CHECK(child > 0);
	}
	while (count < 100)
		usleep(100);
}

static void by_timer(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN, .sigev_value.sival_int = 99};
	struct itimerspec value = {.it_value.tv_nsec = 1000000, .it_interval.tv_nsec = 200000};
	timer_t timer;

	install_action(SIGRTMIN, note, 0);
	CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && timer_settime(timer, 0, &value, NULL) == 0);
	while (count < 50)
		;
	CHECK(last.si_code == SI_TIMER && last.si_value.sival_int == 99 && timer_delete(timer) == 0);
}

static ucontext_t main_context, other_context;

static void other(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		count++;
		CHECK(swapcontext(&other_context, &main_context) == 0);
	}
}

static void contexts(void)
{
	static char stack[65536];

	CHECK(getcontext(&other_context) == 0);
	other_context.uc_stack = (stack_t){.ss_sp = stack, .ss_size = sizeof(stack)};
	other_context.uc_link = &main_context;
	makecontext(&other_context, (void (*)(void))other, 1, 100);
	for (int i = 0; i < 101; i++)
		CHECK(swapcontext(&main_context, &other_context) == 0);
	CHECK(count == 100);
}

static void set_context(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
	count++;
	setcontext(&main_context);
}

static void left_by_setcontext(void)
{
	install_action(SIGUSR1, set_context, SA_NODEFER);
	CHECK(getcontext(&main_context) == 0);
	if (count < 20)
		raise(SIGUSR1);
	CHECK(count == 20);
}

/* Children of fork start with their parent's mask, amid many signals. */
static void forks_in_storm(void)
{
	sigset_t mask;
	int status;

	install_action(SIGALRM, note, SA_RESTART);
	timer_after(30, 30);
	for (int i = 0; i < 300; i++) {
		pid_t child = fork();

		CHECK(child >= 0);
		if (!child)
			_exit(sigprocmask(SIG_BLOCK, NULL, &mask) || sigismember(&mask, SIGALRM) ||
			      sigismember(&mask, SIGTERM));
		CHECK(waitpid(child, &status, 0) == child && status == 0);
	}
	timer_after(0, 0);
	CHECK(count > 0);
}

/* A deadly signal reaches a child before, during and after execve. */
static void ended_around_exec(void)
{
	int status;

	for (int i = 0; i < 100; i++) {
		pid_t child = fork();

		CHECK(child >= 0);
		if (!child) {
			execl("/bin/sleep", "sleep", "20", NULL);
			_exit(1);
		}
		usleep((useconds_t)(i * 61 % 100 * 40));
		CHECK(kill(child, SIGTERM) == 0);
		CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	}
}

/* A process that ignores SIGSEGV may write code, and its children inherit the ignored signal. */
static void ignored_faults(void)
{
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t child;

	CHECK(code != MAP_FAILED && signal(SIGSEGV, SIG_IGN) == SIG_DFL);
	for (int i = 0; i < 100; i++) {
		memcpy(code, (const uint8_t[]){0xb8, (uint8_t)i, 0, 0, 0, 0xc3}, 6);
		CHECK(((int (*)(void))(uintptr_t)code)() == i);
	}
	CHECK(kill(getpid(), SIGSEGV) == 0 && signal(SIGSEGV, SIG_IGN) == SIG_IGN);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		execl("/bin/sh", "sh", "-c", "kill -SEGV $$; exit 5", NULL);
		_exit(1);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 5);
}

/* Sleeps while a child sends `number` twice. Returns the result of nanosleep. */
static int sleep_under(int number)
{
	const struct timespec whole = {0, 400000000};
	int status, result;
	pid_t child = fork();

	CHECK(child >= 0);
	for (int i = 0; child == 0 && i < 2; i++) {
		usleep(100000);
		CHECK(kill(getppid(), number) == 0);
	}
	if (!child)
		_exit(0);
	result = nanosleep(&whole, NULL);
	while (waitpid(child, &status, 0) < 0)
		CHECK(errno == EINTR);
	return result;
}

/* SA_RESETHAND: the second signal has the default action, which stops or ignores. */
static void handled_once(void)
{
	const struct sigaction once = {.sa_sigaction = note, .sa_flags = SA_SIGINFO | (int)SA_RESETHAND};
	int status;
	pid_t child = fork();

	CHECK(child >= 0);
	if (!child) {
		/* The kernel does not stop a process of an orphaned group: the parent is of the same session. */
		CHECK(setpgid(0, 0) == 0 && sigaction(SIGTSTP, &once, NULL) == 0);
		CHECK(kill(getpid(), SIGTSTP) == 0 && count == 1);
		CHECK(kill(getpid(), SIGTSTP) == 0 && count == 1);
		_exit(3);
	}
	CHECK(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTSTP);
	CHECK(kill(child, SIGCONT) == 0 && waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
	CHECK(sigaction(SIGWINCH, &once, NULL) == 0 && raise(SIGWINCH) == 0 && count == 1);
	CHECK(sleep_under(SIGWINCH) == 0 && count == 1);
	/* The runtime catches such a signal although the program ignores it. */
	CHECK(signal(SIGTRAP, SIG_IGN) == SIG_DFL && sleep_under(SIGTRAP) == 0);
}

/* The kernel drops unknown flags of sigaction, so that a program can tell which flags are supported. */
static void unknown_flags(void)
{
	struct sigaction action = {.sa_sigaction = note, .sa_flags = SA_SIGINFO | 0x400 | 0x100}, got;

	CHECK(sigaction(SIGUSR1, &action, NULL) == 0 && sigaction(SIGUSR1, NULL, &got) == 0);
	/* Before Linux 5.11, the kernel keeps all flags. */
	printf("unknown flags: %x\n", (unsigned)got.sa_flags & 0x500);
	CHECK(got.sa_flags & SA_SIGINFO);
}

static void nested(int number, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	if (++count < 100)
		raise(number);
}

/* A frame that does not fit on the alternate signal stack ends the process, and overwrites nothing. */
static void full_alternate_stack(void)
{
	enum { BELOW = 65536, SIZE = 32768 };
	const struct sigaction action = {.sa_sigaction = nested, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
	char *shared = mmap(NULL, BELOW + SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t child;

	CHECK(shared != MAP_FAILED);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		const stack_t at = {.ss_sp = shared + BELOW, .ss_size = SIZE};

		CHECK(sigaltstack(&at, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);
		raise(SIGUSR1);
		_exit(1);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	for (int i = 0; i < BELOW - 8192; i++)
		CHECK(shared[i] == 0);
}

int main(int argc, char **argv)
{
	static const struct subtest tests[] = {
		SUBTEST(interrupted),     SUBTEST(restarted),
		SUBTEST(ignored),         SUBTEST(stop_and_go),
		SUBTEST(waited),          SUBTEST(by_descriptor),
		SUBTEST(suspended),       SUBTEST(polled),
		SUBTEST(storm),           SUBTEST(tight_loops),
		SUBTEST(endless),         SUBTEST(masks),
		SUBTEST(alternate_stack), SUBTEST(cancelled),
		SUBTEST(children),        SUBTEST(by_timer),
		SUBTEST(contexts),        SUBTEST(left_by_setcontext),
		SUBTEST(forks_in_storm),  SUBTEST(ended_around_exec),
		SUBTEST(ignored_faults),  SUBTEST(handled_once),
		SUBTEST(unknown_flags),   SUBTEST(full_alternate_stack),
	};

	return run_subtests(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
