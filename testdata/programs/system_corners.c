/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests to the system that a recorder could break: all descriptors closed, /proc/self, limits, filters of system
 * calls, segment bases, all ways to make threads and processes, robust locks, memory at any requested place.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/user.h>
#include <time.h>
#include <ucontext.h>

#include "subtests.h"

static char self[4096];
extern char **environ;

static int wait_for(pid_t pid)
{
	int status;

	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void close_all(void)
{
	int fds[2];
	pid_t child;

	for (int i = 3; i < 4096; i++)
		close(i);
	CHECK(open("/dev/null", O_RDONLY) == 3); /* the lowest descriptor is free */
	syscall(SYS_close_range, 3, ~0u, 0);
	CHECK(pipe(fds) == 0 && fds[0] == 3 && fds[1] == 4);
	child = fork();
	if (!child) {
		execl(self, self, "exit", "6", NULL);
		_exit(1);
	}
	CHECK(wait_for(child) == 6);
}

static void own_names(void)
{
	char path[4096], line[4096];
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
	FILE *file = fopen("/proc/self/cmdline", "r");

	CHECK(size > 0);
	path[size] = '\0';
	CHECK(!strcmp(path, self));
	CHECK(file && fread(line, 1, sizeof(line) - 1, file) > 0 && strstr(line, "system_corners"));
	fclose(file);
	CHECK(!prctl(PR_GET_NAME, line) && !strcmp(line, "system_corners"));
	CHECK(strstr((const char *)getauxval(AT_EXECFN), "system_corners"));
	CHECK(getauxval(AT_SYSINFO_EHDR) && !memcmp((void *)getauxval(AT_SYSINFO_EHDR), ELFMAG, SELFMAG));
	CHECK(getauxval(AT_PAGESZ) == 4096 && getauxval(AT_UID) == getuid());
}

/* The maps show the program's text with its protection, and the stack. */
static void own_maps(void)
{
	FILE *file = fopen("/proc/self/maps", "r");
	int text = 0, stack = 0;
	char line[4096];

	CHECK(file);
	while (fgets(line, sizeof(line), file)) {
		unsigned long first, end;
		char protection[8];

		CHECK(sscanf(line, "%lx-%lx %4s", &first, &end, protection) == 3);
		if ((uintptr_t)own_maps >= first && (uintptr_t)own_maps < end)
			text = !strcmp(protection, "r-xp") && strstr(line, "system_corners");
		stack |= (uintptr_t)line >= first && (uintptr_t)line < end && strstr(line, "[stack]") != NULL;
	}
	fclose(file);
	CHECK(text && stack);
}

static void address_limit(void)
{
	struct rlimit limit = {.rlim_cur = 4ull << 30, .rlim_max = 4ull << 30};

	CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
	for (int i = 0; i < 5; i++) {
		void *memory = malloc(100 << 20);

		CHECK(memory);
		memset(memory, 1, 1 << 20);
		free(memory);
	}
	CHECK(mmap(NULL, 5ull << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == ENOMEM);
}

/* After this, only read, write, exit, exit_group, rt_sigreturn and getpid are possible. */
static void filter(void)
{
#define ALLOW(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_read),
		ALLOW(SYS_write),
		ALLOW(SYS_exit),
		ALLOW(SYS_exit_group),
		ALLOW(SYS_rt_sigreturn),
		ALLOW(SYS_getpid),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EXDEV),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(*code), code};
	volatile uint64_t sum = 0;

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
	CHECK(syscall(SYS_getppid) == -1 && errno == EXDEV);
	for (int i = 0; i < 100000; i++)
		sum += (uint64_t)i;
	CHECK(getpid() > 0 && sum == 4999950000u);
}

/* After this, memory cannot be mapped writable and executable; executed programs inherit the filter. */
static void no_new_code(void)
{
	const uint32_t both = PROT_WRITE | PROT_EXEC;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, both),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, both, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EXDEV),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(*code), code};
	pid_t child = fork();

	if (!child) {
		CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
		      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
		CHECK(mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
		      MAP_FAILED);
		execl(self, "system_corners", "exit", "6", NULL);
		_exit(1);
	}
	CHECK(wait_for(child) == 6);
}

static void filter_kills(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(*code), code};
	int status;
	pid_t child = fork();

	if (!child) {
		CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
		CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
		syscall(SYS_getppid);
		_exit(1);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
}

static void strict_filter(void)
{
	int status;
	pid_t child = fork();

	if (!child) {
		CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
		syscall(SYS_exit, 9);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 9);
}

static void segment_base(void)
{
	static uint64_t values[2] = {0x1111, 0x2222};
	uint64_t got, base;

	CHECK(syscall(SYS_arch_prctl, 0x1001, values) == 0); /* ARCH_SET_GS */
	for (int i = 0; i < 1000; i++) {
		__asm__ volatile("movq %%gs:8, %0" : "=r"(got));
		CHECK(got == 0x2222);
	}
	CHECK(syscall(SYS_arch_prctl, 0x1004, &base) == 0 && base == (uintptr_t)values);
	CHECK(getpid() > 0);
	__asm__ volatile("movq %%gs:0, %0" : "=r"(got));
	CHECK(got == 0x1111);
}

static void *add_one(void *number)
{
	atomic_fetch_add((_Atomic int *)number, 1);
	return NULL;
}

static void many_threads(void)
{
	static pthread_t threads[1500];
	_Atomic int sum = 0;
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 65536);
	for (int i = 0; i < 1500; i++)
		CHECK(pthread_create(&threads[i], &attributes, add_one, &sum) == 0);
	for (int i = 0; i < 1500; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	CHECK(sum == 1500);
}

static pthread_barrier_t barrier;

static void *meet(void *number)
{
	pthread_barrier_wait(&barrier);
	return add_one(number);
}

/* Runs all threads at the same time. */
static void threads_at_once(void)
{
	static pthread_t threads[300];
	_Atomic int sum = 0;

	pthread_barrier_init(&barrier, NULL, 300);
	for (int i = 0; i < 300; i++)
		CHECK(pthread_create(&threads[i], NULL, meet, &sum) == 0);
	for (int i = 0; i < 300; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	CHECK(sum == 300);
}

static void by_clone3(void)
{
	struct clone_args arguments = {.exit_signal = SIGCHLD};
	int descriptor = -1;

	for (int i = 0; i < 10; i++) {
		long pid;

		arguments.flags = i % 2 ? CLONE_PIDFD : 0;
		arguments.pidfd = (uintptr_t)&descriptor;
		pid = syscall(SYS_clone3, &arguments, sizeof(arguments));
		if (!pid)
			_exit(i);
		CHECK(pid > 0 && wait_for((pid_t)pid) == i);
	}
	CHECK(descriptor > 0);
}

static int in_clone(void *argument)
{
	return *(int *)argument + 1;
}

static void by_clone(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	int value = 30;

	CHECK(wait_for(clone(in_clone, stack + sizeof(stack), CLONE_VM | SIGCHLD, &value)) == 31);
	CHECK(wait_for(clone(in_clone, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &value)) == 31);
	CHECK(wait_for(clone(in_clone, stack + sizeof(stack), CLONE_FILES | CLONE_FS | SIGCHLD, &value)) == 31);
}

static void by_vfork(void)
{
	for (int i = 0; i < 20; i++) {
		volatile int seen = 0;
		pid_t pid = vfork();

		if (!pid) {
			seen = i + 1; /* writes to the parent's memory */
			if (i % 2)
				_exit(i);
			execl(self, self, "exit", "77", NULL);
			_exit(1);
		}
		CHECK(wait_for(pid) == (i % 2 ? i : 77) && seen == i + 1);
	}
}

static void by_spawn(void)
{
	char *arguments[] = {self, "exit", "12", NULL};
	posix_spawn_file_actions_t actions;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 5, "/dev/null", O_RDONLY, 0);
	for (int i = 0; i < 10; i++)
		CHECK(posix_spawn(&pid, self, &actions, NULL, arguments, environ) == 0 && wait_for(pid) == 12);
	CHECK(posix_spawn(&pid, "/no/such", NULL, NULL, arguments, environ) == ENOENT);
}

static void *exec_here(void *argument)
{
	(void)argument;
	execl(self, self, "exit", "21", NULL);
	return NULL;
}

static void exec_from_thread(void)
{
	pid_t pid = fork();

	if (!pid) {
		pthread_t threads[3];

		for (int i = 0; i < 3; i++)
			pthread_create(&threads[i], NULL, i < 2 ? (void *(*)(void *))(uintptr_t)pause : exec_here,
				       NULL);
		for (;;)
			pause();
	}
	CHECK(wait_for(pid) == 21);
}

static void failed_exec(void)
{
	char *arguments[] = {"x", NULL};

	for (int i = 0; i < 20; i++) {
		CHECK(execv("/no/such", arguments) == -1 && errno == ENOENT);
		CHECK(execv("/etc/passwd", arguments) == -1 && (errno == EACCES || errno == ENOEXEC));
		CHECK(execv("/", arguments) == -1 && errno == EACCES);
	}
}

static _Atomic int stop;

static void *work(void *argument)
{
	while (!atomic_load(&stop))
		free(malloc(100));
	return argument;
}

static void fork_while_threads_work(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
	for (int i = 0; i < 30; i++) {
		pid_t pid = fork();

		if (!pid) {
			free(malloc(1000));
			_exit(i);
		}
		CHECK(wait_for(pid) == i);
	}
	atomic_store(&stop, 1);
	for (int i = 0; i < 4; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
}

/* Calls exit_group while other threads run and wait. */
static void exit_among_threads(void)
{
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (!pid) {
			pthread_t thread;

			for (int j = 0; j < 4; j++)
				pthread_create(&thread, NULL, j % 2 ? work : (void *(*)(void *))(uintptr_t)pause, NULL);
			if (i % 2)
				usleep(500);
			_exit(i);
		}
		CHECK(wait_for(pid) == i);
	}
}

static pthread_mutex_t robust;

static void *die_with_lock(void *argument)
{
	CHECK(pthread_mutex_lock(&robust) == 0);
	return argument;
}

static void robust_lock(void)
{
	pthread_mutexattr_t attributes;
	pthread_t thread;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust, &attributes);
	CHECK(pthread_create(&thread, NULL, die_with_lock, NULL) == 0 && pthread_join(thread, NULL) == 0);
	CHECK(pthread_mutex_lock(&robust) == EOWNERDEAD && pthread_mutex_consistent(&robust) == 0);
	CHECK(pthread_mutex_unlock(&robust) == 0);
}

static void *exit_alone(void *argument)
{
	usleep(1000);
	printf("the last thread ends the process\n");
	fflush(stdout);
	return argument;
}

/* The first thread ends before the others. */
static void leader_ends(void)
{
	pid_t pid = fork();

	if (!pid) {
		pthread_t thread;

		CHECK(pthread_create(&thread, NULL, exit_alone, NULL) == 0);
		pthread_exit(NULL);
	}
	CHECK(wait_for(pid) == 0);
}

static void futexes(void)
{
	struct timespec time = {.tv_nsec = 1000000};
	int word = 5;

	CHECK(syscall(SYS_futex, &word, FUTEX_WAIT, 4, NULL) == -1 && errno == EAGAIN);
	CHECK(syscall(SYS_futex, &word, FUTEX_WAIT, 5, &time) == -1 && errno == ETIMEDOUT);
	CHECK(syscall(SYS_futex, &word, FUTEX_WAKE, 1) == 0);
}

/* Maps memory at 1,000 fixed places all over the address space. */
static void fixed_everywhere(void)
{
	int failed = 0;

	for (uintptr_t i = 1; i < 1000; i++) {
		void *place = (void *)(i * 0x1f00000000 & 0x7fffffff0000);
		void *got = mmap(place, 65536, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		failed += got != place;
		if (got == place)
			*(volatile char *)got = 1;
	}
	CHECK(failed < 10);
	CHECK(mmap((void *)0x7ffff0000000, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
}

static void break_grows(void)
{
	char *before = sbrk(0);

	CHECK(sbrk(8 << 20) == before);
	memset(before, 3, 8 << 20);
	CHECK(brk(before) == 0 && sbrk(0) == before);
}

static void clocks(void)
{
	struct timespec before, after, by_call;
	struct timeval day;

	for (int i = 0; i < 1000; i++) {
		CHECK(clock_gettime(CLOCK_MONOTONIC, &before) == 0);
		CHECK(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &by_call) == 0);
		CHECK(clock_gettime(CLOCK_MONOTONIC, &after) == 0);
		CHECK(before.tv_sec <= by_call.tv_sec && by_call.tv_sec <= after.tv_sec);
		CHECK(gettimeofday(&day, NULL) == 0 && day.tv_sec > 1600000000);
	}
	CHECK(sched_getcpu() >= 0);
}

/* Registers kept by a system call, and registers changed by it: rcx and r11. */
static void call_registers(void)
{
	uint64_t next, rcx, flags, r10;

	__asm__ volatile("mov $0x3003, %%r10d\n\tmov $1000, %%eax\n\tstc\n\tsyscall\n1:\tlea 1b(%%rip), %0\n\t"
			 "mov %%rcx, %1\n\tmov %%r11, %2\n\tmov %%r10, %3"
			 : "=&r"(next), "=&r"(rcx), "=&r"(flags), "=&r"(r10)
			 :
			 : "rax", "rcx", "r10", "r11", "memory", "cc");
	CHECK(next == rcx && (flags & 1) && r10 == 0x3003);
}

static void old_call(void)
{
	long result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory"); /* getpid, or no support for it */
	CHECK(result == getpid() || result == -ENOSYS);
}

__attribute__((noinline)) static void stop_here(uintptr_t *next)
{
	__asm__ volatile("lea 1f(%%rip), %%rax\n\tmov %%rax, (%0)\n\tint3\n1:" ::"r"(next) : "rax", "memory");
}

/* A debugger sees the child's real registers and code. */
static void traced_child(void)
{
	static uintptr_t next;
	struct user_regs_struct regs;
	int status;
	pid_t child = fork();

	if (!child) {
		CHECK(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
		raise(SIGSTOP);
		stop_here(&next);
		_exit(4);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	CHECK(ptrace(PTRACE_CONT, child, NULL, NULL) == 0);
	CHECK(waitpid(child, &status, 0) == child && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	CHECK(ptrace(PTRACE_GETREGS, child, NULL, &regs) == 0);
	CHECK(regs.rip == (uintptr_t)ptrace(PTRACE_PEEKDATA, child, &next, NULL));
	CHECK(ptrace(PTRACE_CONT, child, NULL, NULL) == 0 && wait_for(child) == 4);
}

/* A vfork child asks for a debugger, in its parent's memory. Traces of both contain the parent's call of usleep. */
static void traced_vfork_child(void)
{
	int status;
	pid_t child = vfork();

	if (!child) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
			execl("/bin/sh", "sh", "-c", "exit 7", NULL);
		_exit(1);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	usleep(1);
	CHECK(ptrace(PTRACE_CONT, child, NULL, NULL) == 0 && wait_for(child) == 7);
}

static void do_nothing(int number)
{
	(void)number;
}

static void exit_eight(int number)
{
	(void)number;
	_exit(8);
}

static int has_handler(int number, void (*handler)(int))
{
	struct sigaction action;

	CHECK(sigaction(number, NULL, &action) == 0);
	return action.sa_handler == handler;
}

/* Children of vfork die of signals. The parent, whose memory they have, makes further ones. */
static void vfork_deaths(void)
{
	static const int ends[] = {SIGTERM, SIGKILL, SIGSEGV};
	static uint8_t *volatile code;
	const struct sigaction none = {.sa_handler = SIG_DFL};

	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(code != MAP_FAILED && signal(SIGSEGV, exit_eight) == SIG_DFL);
	memcpy(code, (const uint8_t[]){0xb8, 1, 0, 0, 0, 0xc3}, 6);
	CHECK(((int (*)(void))(uintptr_t)code)() == 1);
	for (volatile int i = 0; i < 20; i++) {
		int status;
		pid_t pid = vfork();

		if (!pid) {
			if (!has_handler(SIGSEGV, exit_eight) || !has_handler(SIGTERM, SIG_DFL))
				_exit(9);
			if (i % 4 == 0)
				raise(SIGTERM);
			if (i % 4 == 1)
				raise(SIGKILL);
			if (sigaction(SIGSEGV, &none, NULL) != 0 || !has_handler(SIGSEGV, SIG_DFL))
				_exit(9);
			if (i % 4 == 2)
				raise(SIGSEGV);
			/* Writing code is no fault. */
			code[1] = 7;
			_exit(((int (*)(void))(uintptr_t)code)());
		}
		CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
		if (i % 4 == 3)
			CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
		else
			CHECK(WIFSIGNALED(status) && WTERMSIG(status) == ends[i % 4]);
		CHECK(has_handler(SIGSEGV, exit_eight));
	}
}

/* CLONE_CLEAR_SIGHAND: the child has no handler, but ignored signals stay ignored. */
static void cleared_handlers(void)
{
	struct clone_args arguments = {.flags = CLONE_CLEAR_SIGHAND, .exit_signal = SIGCHLD};
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t pid;

	CHECK(signal(SIGUSR1, do_nothing) == SIG_DFL && signal(SIGUSR2, SIG_IGN) == SIG_DFL);
	CHECK(code != MAP_FAILED);
	memcpy(code, (const uint8_t[]){0xb8, 1, 0, 0, 0, 0xc3}, 6);
	CHECK(((int (*)(void))(uintptr_t)code)() == 1);
	pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));
	if (pid < 0 && (errno == ENOSYS || errno == EINVAL || errno == EPERM))
		return;
	CHECK(pid >= 0);
	if (!pid) {
		CHECK(has_handler(SIGUSR1, SIG_DFL) && has_handler(SIGUSR2, SIG_IGN));
		code[1] = 2;
		CHECK(((int (*)(void))(uintptr_t)code)() == 2);
		/* The kernel reports bad addresses, and no signal. */
		CHECK(open((const char *)1, O_RDONLY) == -1 && errno == EFAULT);
		raise(SIGUSR1);
		_exit(1);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1);
}

static siginfo_t refused;
static uint64_t refused_pc;
static volatile char dispatches; /* the selector of PR_SET_SYSCALL_USER_DISPATCH */

static void on_refused(int number, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;

	(void)number;
	dispatches = 0;
	refused = *info;
	refused_pc = (uint64_t)interrupted->uc_mcontext.gregs[REG_RIP];
	interrupted->uc_mcontext.gregs[REG_RAX] = 4242;
}

/* The handler of SIGSYS carries out the call, whose address the program checks. */
static void check_refused(void)
{
	CHECK(syscall(500, 1, 2) == 4242 && refused.si_syscall == 500);
	CHECK((uint64_t)refused.si_call_addr == refused_pc);
}

static void filter_traps(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 500, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(*code), code};
	const struct sigaction action = {.sa_sigaction = on_refused, .sa_flags = SA_SIGINFO};

	CHECK(sigaction(SIGSYS, &action, NULL) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
	check_refused();
}

static void dispatched_calls(void)
{
	const struct sigaction action = {.sa_sigaction = on_refused, .sa_flags = SA_SIGINFO};

	CHECK(sigaction(SIGSYS, &action, NULL) == 0);
	if (prctl(59 /* PR_SET_SYSCALL_USER_DISPATCH */, 1, 0, 0, &dispatches) != 0)
		return;
	dispatches = 1;
	check_refused();
}

static volatile int steps;

static void on_step(int number, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;

	(void)number;
	(void)info;
	if (++steps == 30)
		interrupted->uc_mcontext.gregs[REG_EFL] &= ~0x100ll;
}

static void start_steps(int number, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;

	(void)number;
	(void)info;
	interrupted->uc_mcontext.gregs[REG_EFL] |= 0x100;
}

/* The program sets the trap flag by popf. */
static void steps_itself(void)
{
	const struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};

	CHECK(sigaction(SIGTRAP, &action, NULL) == 0);
	__asm__ volatile(
		"pushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\tnop\n\tmov %%rax, %%rax\n\tjmp 1f\n\tnop\n1:\tpushfq\n\t"
		"andq $~0x100, (%%rsp)\n\tpopfq\n\tnop"
		:
		:
		: "memory", "cc");
	CHECK(steps == 6);
}

/* A handler sets the trap flag in its frame. */
static void stepped_by_frame(void)
{
	const struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
	const struct sigaction start = {.sa_sigaction = start_steps, .sa_flags = SA_SIGINFO};

	CHECK(sigaction(SIGTRAP, &action, NULL) == 0 && sigaction(SIGUSR1, &start, NULL) == 0);
	raise(SIGUSR1);
	for (volatile int i = 0; i < 20; i++)
		;
	CHECK(steps == 30);
}

/* MAP_FIXED_NOREPLACE fails with EEXIST at each mapping that /proc/self/maps shows. */
static void taken_memory(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4600];
	unsigned long base;

	CHECK(maps);
	while (fgets(line, sizeof(line), maps)) {
		CHECK(sscanf(line, "%lx", &base) == 1);
		/* The kernel's vsyscall page is not in the address space of programs. */
		if (base >> 47)
			continue;
		CHECK(mmap((void *)base, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) ==
		      MAP_FAILED);
		CHECK(errno == EEXIST);
	}
	fclose(maps);
}

int main(int argc, char **argv)
{
	static const struct subtest tests[] = {
		SUBTEST(close_all),
		SUBTEST(own_names),
		SUBTEST(own_maps),
		SUBTEST(address_limit),
		SUBTEST(filter),
		SUBTEST(no_new_code),
		SUBTEST(filter_kills),
		SUBTEST(strict_filter),
		SUBTEST(segment_base),
		SUBTEST(many_threads),
		SUBTEST(threads_at_once),
		SUBTEST(by_clone3),
		SUBTEST(by_clone),
		SUBTEST(by_vfork),
		SUBTEST(by_spawn),
		SUBTEST(exec_from_thread),
		SUBTEST(failed_exec),
		SUBTEST(fork_while_threads_work),
		SUBTEST(exit_among_threads),
		SUBTEST(robust_lock),
		SUBTEST(leader_ends),
		SUBTEST(futexes),
		SUBTEST(fixed_everywhere),
		SUBTEST(break_grows),
		SUBTEST(clocks),
		SUBTEST(call_registers),
		SUBTEST(old_call),
		SUBTEST(traced_child),
		SUBTEST(traced_vfork_child),
		SUBTEST(vfork_deaths),
		SUBTEST(cleared_handlers),
		SUBTEST(filter_traps),
		SUBTEST(dispatched_calls),
		SUBTEST(steps_itself),
		SUBTEST(stepped_by_frame),
		SUBTEST(taken_memory),
	};

	if (argc == 3 && !strcmp(argv[1], "exit"))
		return atoi(argv[2]);
	CHECK(realpath(argv[0], self));
	return run_subtests(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
