/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/software/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/signals.h"
#include "common/vector.h"
#include "record/proc/proc_files.h"
#include "record/software/attach.h"
#include "record/software/shared/tracee.h"
#include "record/software/stopped.h"
#include "record/software/watch_state.h"

#define OPTIONS                                                                                                        \
	(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK)

#define PENDING_MAX 64   /* signals of a thread that are looked at */
#define PENDING_ROUNDS 8 /* attempts to take a signal from a thread */
#define HOLD_TIME 10000  /* milliseconds to wait until all threads of a process are stopped */
#define HELD_INTERVAL_NS 100000000l
#define ENDING_INTERVAL_NS 1000000l

/* ---- the table of threads -------------------------------------------------------------------- */

static struct watched *find(struct watch *watch, pid_t tid)
{
	for (size_t i = 0; i < watch->count; i++)
		if (watch->threads[i].tid == tid)
			return &watch->threads[i];
	return NULL;
}

static void forget(struct watch *watch, pid_t tid)
{
	struct watched *thread = find(watch, tid);

	if (thread)
		*thread = watch->threads[--watch->count];
}

static struct watched *add_watched(struct watch *watch, pid_t tid)
{
	if (!COMMON_VECTOR_GROW(watch->threads, watch->capacity, watch->count + 1))
		return NULL;
	watch->threads[watch->count] = (struct watched){.tid = tid, .pid = (pid_t)record_proc_of_thread((uint32_t)tid)};
	return &watch->threads[watch->count++];
}

/* ---- stops ----------------------------------------------------------------------------------- */

/* Returns whether another process may share the stopped thread's memory: a vfork child before execve. */
static bool shares_memory(pid_t pid)
{
	char path[64], line[256];
	int parent = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "PPid: %d", &parent) == 1)
			break;
	if (file)
		fclose(file);
	return parent > 0 && syscall(SYS_kcmp, pid, parent, 1 /* KCMP_VM */, 0, 0) == 0;
}

static bool is_breakpoint(const struct watch *watch, const struct watched *thread)
{
	siginfo_t info;

	if (watch->by_code)
		return software_watch_step_back(thread);
	return ptrace(PTRACE_GETSIGINFO, thread->tid, 0, &info) == 0 && info.si_code == TRAP_HWBKPT;
}

static bool has_pending_breakpoint(const struct watch *watch, pid_t tid)
{
	struct __ptrace_peeksiginfo_args pending = {.nr = PENDING_MAX};
	siginfo_t signals[PENDING_MAX];
	const long count = ptrace(PTRACE_PEEKSIGINFO, tid, &pending, signals);

	for (long i = 0; i < count; i++)
		if (signals[i].si_signo == SIGTRAP && signals[i].si_code == (watch->by_code ? SI_KERNEL : TRAP_HWBKPT))
			return true;
	return false;
}

/*
 * An interruption may stop a thread between the breakpoint and its SIGTRAP, which stays pending. Takes this SIGTRAP: without
 * a tracer, the signal would end the program. The thread executes no instruction meanwhile.
 */
static void take_pending_breakpoint(const struct watch *watch, const struct watched *thread)
{
	for (unsigned i = 0; i < PENDING_ROUNDS && has_pending_breakpoint(watch, thread->tid); i++) {
		int status, signal;

		if (ptrace(PTRACE_CONT, thread->tid, 0, 0) < 0 ||
		    waitpid(thread->tid, &status, __WALL) != thread->tid || !WIFSTOPPED(status))
			return;
		/* An interruption that was requested twice. */
		if (status >> 16 == PTRACE_EVENT_STOP)
			continue;
		signal = WSTOPSIG(status);
		if (status >> 16 || (signal == SIGTRAP && is_breakpoint(watch, thread)))
			signal = 0;
		ptrace(PTRACE_INTERRUPT, thread->tid, 0, 0);
		ptrace(PTRACE_CONT, thread->tid, 0, signal);
		software_tracee_stop(thread->tid, 1000);
	}
}

/* Takes the breakpoints out of the code, and lets no thread of the process stand behind a breakpoint. */
static void clear_code(struct watch *watch, const struct watched *reached)
{
	software_watch_clear(reached);
	for (size_t i = 0; i < watch->count; i++) {
		const struct watched *thread = &watch->threads[i];

		if (thread->pid == reached->pid && thread->tid != reached->tid && software_watch_stop_thread(thread)) {
			ptrace(PTRACE_INTERRUPT, thread->tid, 0, 0);
			ptrace(PTRACE_CONT, thread->tid, 0, 0);
		}
	}
}

/* Stops held threads of a process by an interruption. The threads execute no instruction. except: a thread that stays. */
static void interrupt_held(struct watch *watch, pid_t pid, pid_t except)
{
	for (size_t i = 0; i < watch->count; i++) {
		struct watched *thread = &watch->threads[i];

		if (!thread->held || thread->pid != pid || thread->tid == except)
			continue;
		thread->held = false;
		ptrace(PTRACE_INTERRUPT, thread->tid, 0, 0);
		ptrace(PTRACE_CONT, thread->tid, 0, 0);
	}
}

/* Puts all threads of a process into the runtime. reached: the stopped thread that has reached the function. */
static void attach(struct watch *watch, struct watched reached)
{
	struct software_stopped stopped = {.pid = reached.pid};
	struct watched thread = reached; /* all threads of the process have the same breakpoints */
	bool done = true;

	for (size_t i = 0; done && i < watch->count; i++)
		if (watch->threads[i].pid == reached.pid)
			done = software_stopped_add(&stopped, watch->threads[i].tid);
	interrupt_held(watch, reached.pid, reached.tid);
	if (watch->by_code)
		clear_code(watch, &reached);
	/* A thread at a breakpoint stops once more at the same place, since the breakpoint is no signal. */
	for (size_t i = 0; i < stopped.count; i++)
		ptrace(PTRACE_INTERRUPT, stopped.threads[i].tid, 0, 0);
	ptrace(PTRACE_CONT, reached.tid, 0, 0);
	done = done && software_stop_threads(&stopped, OPTIONS);
	for (size_t i = 0; i < stopped.count; i++) {
		thread.tid = stopped.threads[i].tid;
		if (done)
			take_pending_breakpoint(watch, &thread);
		software_watch_disarm(thread.tid);
	}
	if (done && software_stopped_inject(&stopped, &watch->channel->config)) {
		if (write(watch->attached, "", 1) != 1)
			watch->ending = true;
	} else {
		common_message_warning("process %d has reached %s, and cannot be recorded: %s", reached.pid,
				       watch->function->name, stopped.text);
	}
	software_stopped_release(&stopped);
	free(stopped.threads);
	for (size_t i = 0; i < watch->count;)
		if (watch->threads[i].pid == reached.pid)
			watch->threads[i] = watch->threads[--watch->count];
		else
			i++;
}

static bool is_held(const struct watch *watch, pid_t pid)
{
	for (size_t i = 0; i < watch->count; i++)
		if (watch->threads[i].pid == pid && watch->threads[i].held)
			return true;
	return false;
}

/* Returns a thread of the process that is not held; NULL: all are held. */
static const struct watched *find_running(const struct watch *watch, pid_t pid)
{
	for (size_t i = 0; i < watch->count; i++)
		if (watch->threads[i].pid == pid && !watch->threads[i].held)
			return &watch->threads[i];
	return NULL;
}

static uint64_t milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/*
 * A thread has reached the function: stops the other threads of the process. The watching process serves all stops meanwhile: a
 * thread in vfork stops only after its child has executed a program or has ended, and the child needs this tracer to go on.
 */
static void begin_hold(struct watch *watch, struct watched *reached)
{
	reached->held = reached->reached = true;
	if (!watch->held_since)
		watch->held_since = milliseconds();
	for (size_t i = 0; i < watch->count; i++)
		if (watch->threads[i].pid == reached->pid && !watch->threads[i].held)
			ptrace(PTRACE_INTERRUPT, watch->threads[i].tid, 0, 0);
}

/* Continues a stopped thread. Any stop clears a pending interruption: interrupts the thread again if it is to stop. */
static void go_on(const struct watch *watch, const struct watched *thread, int signal)
{
	if (watch->ending || is_held(watch, thread->pid))
		ptrace(PTRACE_INTERRUPT, thread->tid, 0, 0);
	ptrace(PTRACE_CONT, thread->tid, 0, signal);
}

/* Lets a thread execute the instruction at the breakpoint where it stands, and go on. */
static void pass_breakpoint(struct watch *watch, const struct watched *thread)
{
	if (watch->by_code && watch->ending)
		software_watch_clear(thread);
	else if (watch->by_code && !software_watch_step_over(thread)) {
		forget(watch, thread->tid);
		return;
	}
	go_on(watch, thread, 0);
}

/* Lets a process that does not stop go on. Its calls of the function are ignored from now on. */
static void abandon(struct watch *watch, pid_t pid, pid_t running)
{
	common_message_warning(
		"process %d has reached %s, and cannot be recorded: thread %d does not stop: it waits in "
		"the kernel without interruption",
		pid, watch->function->name, running);
	for (size_t i = watch->count; i-- > 0;) {
		struct watched *thread = &watch->threads[i];

		if (thread->pid != pid)
			continue;
		thread->abandoned = true;
		if (!thread->held)
			continue;
		thread->held = false;
		if (!thread->reached) {
			ptrace(PTRACE_CONT, thread->tid, 0, 0);
			continue;
		}
		thread->reached = false;
		pass_breakpoint(watch, thread);
	}
}

/* Attaches to processes that have reached the function, and whose threads are all stopped. */
static void attach_held(struct watch *watch)
{
	const bool too_long = watch->held_since && milliseconds() - watch->held_since > HOLD_TIME;
	bool is_any = false;

	for (size_t i = 0; watch->held_since && i < watch->count; i++) {
		const struct watched thread = watch->threads[i];
		const struct watched *running;

		if (!thread.reached || !thread.held)
			continue;
		running = find_running(watch, thread.pid);
		is_any |= running && !too_long;
		if (running && !too_long)
			continue;
		if (running)
			abandon(watch, thread.pid, running->tid);
		else
			attach(watch, thread);
		/* The table has changed. */
		i = (size_t)-1;
		is_any = false;
	}
	if (!is_any)
		watch->held_since = 0;
}

static bool is_abandoned(const struct watch *watch, pid_t pid)
{
	for (size_t i = 0; i < watch->count; i++)
		if (watch->threads[i].pid == pid && watch->threads[i].abandoned)
			return true;
	return false;
}

static void on_breakpoint(struct watch *watch, struct watched *thread)
{
	struct user_regs_struct regs;

	/* SIGKILL ends the thread; its end is reported. */
	if (ptrace(PTRACE_GETREGS, thread->tid, 0, &regs) < 0)
		return;
	if (regs.rip == thread->breakpoints[WATCH_LINKER])
		software_watch_look(watch, thread->pid, thread->tid);
	else if (!watch->ending && !shares_memory(thread->pid) && !is_abandoned(watch, thread->pid)) {
		begin_hold(watch, thread);
		return;
	}
	pass_breakpoint(watch, thread);
}

static void on_exec(struct watch *watch, pid_t tid)
{
	struct watched *thread;

	for (size_t i = 0; i < watch->count;)
		if (watch->threads[i].pid == tid)
			watch->threads[i] = watch->threads[--watch->count];
		else
			i++;
	thread = add_watched(watch, tid);
	if (thread)
		software_watch_look(watch, thread->pid, tid);
	if (thread)
		go_on(watch, thread, 0);
	else
		ptrace(PTRACE_CONT, tid, 0, 0);
}

/* Lets a stopped thread go on natively. */
static void let_go(struct watch *watch, struct watched thread)
{
	struct software_stopped stopped = {.pid = thread.pid};

	forget(watch, thread.tid);
	if (watch->by_code)
		software_watch_clear(&thread);
	take_pending_breakpoint(watch, &thread);
	software_watch_disarm(thread.tid);
	if (software_stopped_add(&stopped, thread.tid))
		software_stopped_release(&stopped);
	free(stopped.threads);
}

/* Gives a new thread the breakpoints of its process, and a new process the breakpoints of its parent. */
static void on_first_stop(struct watch *watch, pid_t tid)
{
	struct watched *thread = add_watched(watch, tid);

	if (thread)
		software_watch_look(watch, thread->pid, tid);
	if (thread && watch->ending)
		let_go(watch, *thread);
	else if (thread && is_held(watch, thread->pid))
		thread->held = true;
	else
		ptrace(PTRACE_CONT, tid, 0, 0);
}

/* software_watch_look has changed the thread's breakpoints. */
static void on_interruption(struct watch *watch, const struct watched *thread)
{
	struct user_regs_struct regs;

	software_watch_arm(watch, thread);
	if (ptrace(PTRACE_GETREGS, thread->tid, 0, &regs) == 0) {
		software_tracee_mend_call(&regs);
		ptrace(PTRACE_SETREGS, thread->tid, 0, &regs);
	}
	ptrace(PTRACE_CONT, thread->tid, 0, 0);
}

static void on_stop(struct watch *watch, pid_t tid, int status)
{
	const int event = status >> 16, signal = WSTOPSIG(status);
	struct watched *thread = find(watch, tid);

	if (event == PTRACE_EVENT_EXEC)
		on_exec(watch, tid);
	else if (!thread)
		on_first_stop(watch, tid);
	else if (event == PTRACE_EVENT_STOP && watch->ending)
		let_go(watch, *thread);
	else if (event == PTRACE_EVENT_STOP && is_held(watch, thread->pid))
		thread->held = true;
	else if (event == PTRACE_EVENT_STOP && signal != SIGTRAP)
		ptrace(PTRACE_LISTEN, tid, 0, 0);
	else if (event == PTRACE_EVENT_STOP)
		on_interruption(watch, thread);
	else if (!event && signal == SIGTRAP && is_breakpoint(watch, thread))
		on_breakpoint(watch, thread);
	else
		go_on(watch, thread, event ? 0 : signal);
}

/* ---- the watching process -------------------------------------------------------------------- */

/* Reads a request. Positive: id of a running process. Negative: id of the command's process before execve. */
static void take_request(struct watch *watch)
{
	struct software_stopped stopped = {0};
	int32_t pid;
	char answer = 1;

	if (read(watch->request, &pid, sizeof(pid)) != sizeof(pid))
		return;
	stopped.pid = pid < 0 ? -pid : pid;
	if (pid < 0) {
		answer = ptrace(PTRACE_SEIZE, -pid, 0, OPTIONS) == 0 && add_watched(watch, -pid);
	} else {
		answer = software_stop_threads(&stopped, OPTIONS);
		for (size_t i = 0; answer && i < stopped.count; i++)
			add_watched(watch, stopped.threads[i].tid);
		if (answer)
			software_watch_look(watch, pid, 0);
		if (!answer)
			common_message_error("%s", stopped.text);
		software_stopped_end(&stopped, answer ? PTRACE_CONT : PTRACE_DETACH);
		free(stopped.threads);
	}
	if (write(watch->answer, &answer, 1) != 1)
		watch->ending = true;
}

static void take_stops(struct watch *watch)
{
	int status;
	pid_t tid;

	while ((tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0) {
		if (WIFSTOPPED(status))
			on_stop(watch, tid, status);
		else
			forget(watch, tid);
		if (!watch->ending)
			attach_held(watch);
	}
	/* Nobody is left. */
	if (tid < 0 && errno == ECHILD && watch->count == 0 && watch->began)
		watch->ending = true;
	watch->began |= watch->count != 0;
}

/*
 * Lets all threads go on natively, also threads and processes that begin meanwhile. A thread in vfork, or in a system call
 * without interruption, keeps its breakpoints until it stops: this process waits without limit, because a breakpoint
 * without a tracer would end the program.
 */
static void let_all_go(struct watch *watch)
{
	const struct timespec interval = {0, ENDING_INTERVAL_NS};
	const uint64_t start = milliseconds();
	bool is_late = false;

	watch->ending = true;
	for (size_t i = 0; i < watch->count; i++) {
		ptrace(PTRACE_INTERRUPT, watch->threads[i].tid, 0, 0);
		if (watch->threads[i].held)
			ptrace(PTRACE_CONT, watch->threads[i].tid, 0, 0);
	}
	for (take_stops(watch); watch->count; take_stops(watch)) {
		nanosleep(&interval, NULL);
		/* Nobody waits for the recorder's descriptors to be closed here. */
		if (!is_late && milliseconds() - start > SOFTWARE_WATCH_LEAVE_TIME) {
			syscall(SYS_close_range, 0, ~0u, 0);
			is_late = true;
		}
	}
}

static _Noreturn void watch_and_end(struct watch *watch, pid_t parent)
{
	const struct timespec interval = {0, HELD_INTERVAL_NS};
	sigset_t signals;

	/* SIGTERM: the recorder has ended, or needs no more processes. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	/* Unlike the recorder's handlers, the watcher needs these signals with default actions. */
	common_signal_default(SIGCHLD);
	common_signal_default(SIGIO);
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGIO);
	fcntl(watch->request, F_SETOWN, getpid());
	fcntl(watch->request, F_SETFL, O_ASYNC | O_NONBLOCK);
	while (!watch->ending && getppid() == parent) {
		int signal;

		take_request(watch);
		take_stops(watch);
		attach_held(watch);
		signal = watch->ending ? 0 : sigtimedwait(&signals, NULL, watch->held_since ? &interval : NULL);
		watch->ending |= signal == SIGTERM;
	}
	let_all_go(watch);
	_exit(0);
}

/* ---- the recorder ---------------------------------------------------------------------------- */

int software_watch_start(const struct channel *channel, const struct software_function *function,
			 struct software_watch *watch)
{
	int attached[2], request[2], answer[2];
	const pid_t parent = getpid();
	sigset_t before;
	const int status = software_watch_try_breakpoint();

	if (status && status != PTL_UNSUPPORTED)
		return status;
	if (pipe2(attached, O_CLOEXEC | O_NONBLOCK) < 0 || pipe2(request, O_CLOEXEC) < 0 ||
	    pipe2(answer, O_CLOEXEC) < 0)
		return common_fail_errno("pipe");
	common_signal_block_all(&before);
	watch->pid = fork();
	if (watch->pid == 0) {
		struct watch state = {
			.channel = channel,
			.function = function,
			.attached = attached[1],
			.request = request[0],
			.answer = answer[1],
			.by_code = status == PTL_UNSUPPORTED,
		};

		close(request[1]);
		close(answer[0]);
		watch_and_end(&state, parent);
	}
	common_signal_unblock(&before);
	close(attached[1]);
	close(request[0]);
	close(answer[1]);
	watch->attached = attached[0];
	watch->request = request[1];
	watch->answer = answer[0];
	return watch->pid < 0 ? common_fail_errno("fork") : 0;
}

static bool ask(const struct software_watch *watch, int32_t pid)
{
	char answer = 0;
	ssize_t size;

	if (write(watch->request, &pid, sizeof(pid)) != sizeof(pid))
		return false;
	do
		size = read(watch->answer, &answer, 1);
	while (size < 0 && errno == EINTR);
	return size == 1 && answer;
}

bool software_watch_command(const struct software_watch *watch)
{
	/* needed if Yama restricts tracing to descendants: permits the recorder, and so its child */
	prctl(PR_SET_PTRACER, getppid(), 0, 0, 0);
	return ask(watch, -(int32_t)syscall(SYS_getpid));
}

int software_watch_process(const struct software_watch *watch, uint32_t pid)
{
	bool is_stopped;
	const int status = software_attach_check(pid, &is_stopped);

	if (status < 0)
		return status;
	return ask(watch, (int32_t)pid) ? 0 : common_fail(PTL_SYSTEM, "process %u cannot be watched", pid);
}

void software_watch_hear(struct software_watch *watch)
{
	char bytes[64];
	ssize_t size = 1;

	while (software_watch_goes_on(watch) && size > 0) {
		size = read(watch->attached, bytes, sizeof(bytes));
		/* The pipe's other end is closed: nothing is left to watch. */
		if (size == 0) {
			close(watch->attached);
			watch->attached = -1;
		}
	}
}

bool software_watch_goes_on(const struct software_watch *watch)
{
	return watch->pid > 0 && watch->attached >= 0;
}

void software_watch_stop(struct software_watch *watch)
{
	const struct timespec interval = {0, ENDING_INTERVAL_NS};
	unsigned left = SOFTWARE_WATCH_LEAVE_TIME;

	if (watch->pid <= 0)
		return;
	/* The session reaps ended children; the number may belong to another process then. */
	if (waitpid(watch->pid, NULL, WNOHANG) == 0) {
		kill(watch->pid, SIGTERM);
		while (waitpid(watch->pid, NULL, WNOHANG) == 0 && left-- > 0)
			nanosleep(&interval, NULL);
	}
	if (watch->attached >= 0)
		close(watch->attached);
	close(watch->request);
	close(watch->answer);
	*watch = (struct software_watch){.attached = -1};
}
