/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs a program one instruction at a time with ptrace, and writes the addresses of all instructions that retired.
 *
 *     single_step [--most N] -o FILE [--] PROGRAM [ARGUMENT...]
 *
 * Follows all threads and child processes. Signals are delivered unchanged. Address space randomization is off.
 * --most kills all processes after N steps; FILE then has the first instructions of each thread.
 * Exit status: status of PROGRAM (128 + signal if killed by a signal), 124 after --most, 125 if single_step fails.
 *
 * Rules for counting executed instructions:
 *	- A string instruction with a rep prefix counts once, after the last iteration.
 *	- An instruction that faults does not count.
 *	- A system call counts, even without a return.
 *	- The instruction behind cpuid always counts: some virtual machines report no trap between both instructions.
 *
 * Handlers run with SIGTRAP unblocked, because the trap of a step resets the program's handler of a blocked SIGTRAP.
 * Limit: if a program blocks SIGTRAP by a system call, its SIGTRAP handler is reset.
 */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tools/step_file.h"

#define CUT_STATUS 124
#define FAILED_STATUS 125
#define VSYSCALL_PAGE 0xffffffffff600000ull
#define TRAP_FLAG 0x100
#define TRAP_BIT (1ull << (SIGTRAP - 1)) /* bit of SIGTRAP in a signal mask */
#define OPTIONS                                                                                                        \
	(PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC |     \
	 PTRACE_O_TRACESYSGOOD)

#define CPUID_SIZE 2 /* bytes of the cpuid instruction */

enum instruction { OTHER, STRING, SYSTEM_CALL, PUSH_FLAGS, CPUID };

struct thread {
	struct step_thread head;
	uint64_t *addresses;
	size_t capacity;
	uint64_t at;           /* address of the instruction that executes now */
	enum instruction kind; /* kind of the instruction at `at` */
	bool started;          /* `at` is valid */
	bool alive;
};

static struct thread *threads;
static size_t thread_count;
static pid_t root;
static int root_status = FAILED_STATUS;
static uint64_t steps, most = UINT64_MAX;

static void die(const char *what)
{
	fprintf(stderr, "single_step: %s: %s\n", what, strerror(errno));
	exit(FAILED_STATUS);
}

/* ---- threads ----------------------------------------------------------------------------- */

/* Returns the process of a thread; for an ended thread the thread's own number. */
static pid_t process_of(pid_t tid)
{
	char path[64], line[256];
	pid_t pid = tid;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Tgid: %d", &pid) == 1)
			break;
	if (file)
		fclose(file);
	return pid;
}

static struct thread *find_thread(pid_t tid)
{
	for (size_t i = thread_count; i-- > 0;)
		if (threads[i].alive && threads[i].head.tid == (uint32_t)tid)
			return &threads[i];
	return NULL;
}

static struct thread *add_thread(pid_t tid)
{
	struct thread *thread;

	threads = realloc(threads, (thread_count + 1) * sizeof(*threads));
	if (!threads)
		die("threads");
	thread = &threads[thread_count++];
	*thread = (struct thread){.head = {.pid = (uint32_t)process_of(tid), .tid = (uint32_t)tid}, .alive = true};
	return thread;
}

static void retire(struct thread *thread)
{
	if (thread->head.count == thread->capacity) {
		thread->capacity = thread->capacity ? thread->capacity * 2 : 4096;
		thread->addresses = realloc(thread->addresses, thread->capacity * sizeof(uint64_t));
		if (!thread->addresses)
			die("addresses");
	}
	thread->addresses[thread->head.count++] = thread->at;
}

/* ---- instructions ------------------------------------------------------------------------ */

/* Reads 8 bytes of code. Bytes behind the end of the mapping are 0. */
static uint64_t read_code(pid_t tid, uint64_t address)
{
	unsigned shift = (unsigned)(address & 7) * 8;
	uint64_t word;

	errno = 0;
	word = (uint64_t)ptrace(PTRACE_PEEKTEXT, tid, address, NULL);
	if (!errno)
		return word;
	word = (uint64_t)ptrace(PTRACE_PEEKTEXT, tid, address & ~7ull, NULL);
	return word >> shift;
}

static bool is_string_opcode(uint8_t byte)
{
	return (byte >= 0xa4 && byte <= 0xa7) || (byte >= 0xaa && byte <= 0xaf) || (byte >= 0x6c && byte <= 0x6f);
}

static enum instruction classify(uint64_t code)
{
	bool repeats = false;

	for (; code; code >>= 8) {
		uint8_t byte = (uint8_t)code;

		if (byte == 0xf2 || byte == 0xf3)
			repeats = true;
		else if (byte == 0x9c)
			return PUSH_FLAGS;
		else if ((byte == 0x0f && (code >> 8 & 0xff) == 0x05) || (byte == 0xcd && (code >> 8 & 0xff) == 0x80))
			return SYSTEM_CALL;
		else if (byte == 0x0f && (code >> 8 & 0xff) == 0xa2)
			return CPUID;
		else if (is_string_opcode(byte))
			return repeats ? STRING : OTHER;
		else if (byte != 0x66 && byte != 0x67 && (byte & 0xf0) != 0x40 && (byte & 0xe7) != 0x26 &&
			 (byte & 0xfe) != 0x64)
			return OTHER;
	}
	return OTHER;
}

static uint64_t register_of(pid_t tid, size_t offset)
{
	return (uint64_t)ptrace(PTRACE_PEEKUSER, tid, offset, NULL);
}

/* Removes the trap flag of ptrace from the flags that the program has just pushed. */
static void clean_pushed_flags(pid_t tid)
{
	uint64_t stack = register_of(tid, offsetof(struct user_regs_struct, rsp));
	uint64_t word = read_code(tid, stack);

	ptrace(PTRACE_POKEDATA, tid, stack, word & ~(uint64_t)TRAP_FLAG);
}

/* Handles the end of the instruction at `at`. */
static void end_instruction(struct thread *thread)
{
	retire(thread);
	if (thread->kind == PUSH_FLAGS)
		clean_pushed_flags((pid_t)thread->head.tid);
}

static void begin_instruction(struct thread *thread, uint64_t address)
{
	/* The kernel returns from a vsyscall without a trap: the next trap belongs to the caller's instruction. */
	if ((address & ~0xfffull) == VSYSCALL_PAGE)
		address = read_code((pid_t)thread->head.tid,
				    register_of((pid_t)thread->head.tid, offsetof(struct user_regs_struct, rsp)));
	thread->at = address;
	thread->kind = classify(read_code((pid_t)thread->head.tid, address));
	thread->started = true;
}

/* Handles a trap, the end of a step. code: si_code of the trap. */
static void end_step(struct thread *thread, int code)
{
	pid_t tid = (pid_t)thread->head.tid;
	uint64_t address = register_of(tid, offsetof(struct user_regs_struct, rip));
	bool repeats = thread->kind == STRING && address == thread->at;
	/*
	 * Entering a handler (SIGTRAP) and the start of a child report a trap without an instruction. In virtual machines the
	 * register that tells a step from a breakpoint is lost now and then.
	 */
	bool executed = code == TRAP_TRACE || code == TRAP_HWBKPT ||
			(code == TRAP_BRKPT && (thread->kind == SYSTEM_CALL || address != thread->at));

	if (!thread->started)
		executed = false;
	if (executed && !repeats) {
		end_instruction(thread);
		if (thread->kind == CPUID && address != thread->at + CPUID_SIZE) {
			begin_instruction(thread, thread->at + CPUID_SIZE);
			end_instruction(thread);
		}
	}
	begin_instruction(thread, address);
}

/* ---- events ------------------------------------------------------------------------------ */

/* After an exec by a thread: the thread takes the number of its process. The system call retires in the old thread. */
static void change_leader(struct thread *thread)
{
	unsigned long before = 0;
	struct thread *old;

	ptrace(PTRACE_GETEVENTMSG, thread->head.tid, NULL, &before);
	if (!before || before == thread->head.tid)
		return;
	old = find_thread((pid_t)before);
	if (old) {
		if (old->started)
			retire(old);
		old->alive = false;
	}
	if (thread->started && thread->kind == SYSTEM_CALL)
		retire(thread);
	thread->started = false;
}

/* Unblocks SIGTRAP at the first instruction of a handler. */
static void unblock_trap(pid_t tid)
{
	uint64_t mask;

	if (!ptrace(PTRACE_GETSIGMASK, tid, sizeof(mask), &mask) && mask & TRAP_BIT) {
		mask &= ~TRAP_BIT;
		ptrace(PTRACE_SETSIGMASK, tid, sizeof(mask), &mask);
	}
}

/* Returns the signal to deliver to the thread. */
static int handle_stop(struct thread *thread, int status)
{
	int signal = WSTOPSIG(status), event = status >> 16;
	siginfo_t info = {0};

	if (event == PTRACE_EVENT_EXEC) {
		change_leader(thread);
		return 0;
	}
	if (event) {
		if (!thread->started)
			begin_instruction(thread,
					  register_of((pid_t)thread->head.tid, offsetof(struct user_regs_struct, rip)));
		return 0;
	}
	if (signal != SIGTRAP)
		return signal;
	if (ptrace(PTRACE_GETSIGINFO, thread->head.tid, NULL, &info))
		return 0;
	if (info.si_code == SIGTRAP)
		unblock_trap((pid_t)thread->head.tid);
	if (info.si_code == TRAP_TRACE || info.si_code == TRAP_BRKPT || info.si_code == TRAP_HWBKPT ||
	    info.si_code == SIGTRAP) {
		end_step(thread, info.si_code);
		return 0;
	}
	if (info.si_code == SI_KERNEL) { /* int3 */
		retire(thread);
		begin_instruction(thread, register_of((pid_t)thread->head.tid, offsetof(struct user_regs_struct, rip)));
	}
	return SIGTRAP;
}

static void end_thread(pid_t tid, int status)
{
	struct thread *thread = find_thread(tid);

	if (tid == root)
		root_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	if (!thread)
		return;
	thread->head.killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
	if (thread->started && thread->kind == SYSTEM_CALL && !thread->head.cut && !thread->head.killed)
		retire(thread);
	thread->alive = false;
}

static void cut(void)
{
	for (size_t i = 0; i < thread_count; i++)
		if (threads[i].alive) {
			threads[i].head.cut = 1;
			kill((pid_t)threads[i].head.pid, SIGKILL);
		}
	root_status = CUT_STATUS;
}

static void follow(void)
{
	int status;
	pid_t tid;

	while (steps < most && (tid = waitpid(-1, &status, __WALL)) > 0) {
		struct thread *thread;
		bool group_stop;
		int signal;

		if (!WIFSTOPPED(status)) {
			end_thread(tid, status);
			continue;
		}
		thread = find_thread(tid);
		if (!thread)
			thread = add_thread(tid);
		group_stop = status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) != SIGTRAP;
		signal = handle_stop(thread, status);
		ptrace(group_stop ? PTRACE_LISTEN : PTRACE_SINGLESTEP, tid, NULL, signal);
		steps++;
	}
	if (steps >= most)
		cut();
}

/* ---- start and end ----------------------------------------------------------------------- */

static void start(char **argv)
{
	int go[2], status;
	char byte = 0;

	if (pipe(go))
		die("pipe");
	root = fork();
	if (root < 0)
		die("fork");
	if (!root) {
		close(go[1]);
		personality(ADDR_NO_RANDOMIZE);
		if (read(go[0], &byte, 1) == 1) {
			close(go[0]);
			execvp(argv[0], argv);
			fprintf(stderr, "single_step: %s: %s\n", argv[0], strerror(errno));
		}
		_exit(127);
	}
	if (ptrace(PTRACE_SEIZE, root, NULL, OPTIONS))
		die("PTRACE_SEIZE");
	if (write(go[1], &byte, 1) != 1)
		die("write");
	close(go[0]);
	close(go[1]);
	/* Signals may come before exec. */
	while (waitpid(root, &status, 0) == root && WIFSTOPPED(status) && status >> 16 != PTRACE_EVENT_EXEC)
		ptrace(PTRACE_CONT, root, NULL, status >> 16 ? 0 : WSTOPSIG(status));
	if (!WIFSTOPPED(status))
		exit(FAILED_STATUS);
	add_thread(root);
	ptrace(PTRACE_SINGLESTEP, root, NULL, 0);
}

static void write_file(const char *path)
{
	FILE *file = fopen(path, "wb");
	uint64_t magic = STEP_MAGIC;
	bool good;

	if (!file)
		die(path);
	good = fwrite(&magic, sizeof(magic), 1, file) == 1;
	for (size_t i = 0; i < thread_count; i++) {
		const struct thread *thread = &threads[i];

		good = good && fwrite(&thread->head, sizeof(thread->head), 1, file) == 1 &&
		       fwrite(thread->addresses, sizeof(uint64_t), thread->head.count, file) == thread->head.count;
	}
	if (fclose(file) || !good)
		die(path);
}

int main(int argc, char **argv)
{
	const char *path = NULL;
	int at = 1;

	for (; at + 1 < argc && argv[at][0] == '-' && strcmp(argv[at], "--"); at += 2) {
		if (!strcmp(argv[at], "--most"))
			most = strtoull(argv[at + 1], NULL, 10);
		else if (!strcmp(argv[at], "-o"))
			path = argv[at + 1];
		else
			break;
	}
	if (at < argc && !strcmp(argv[at], "--"))
		at++;
	if (at >= argc || argv[at][0] == '-' || !path || !most) {
		fprintf(stderr, "usage: single_step [--most N] -o FILE [--] PROGRAM [ARGUMENT...]\n");
		return FAILED_STATUS;
	}
	start(argv + at);
	follow();
	write_file(path);
	return root_status;
}
