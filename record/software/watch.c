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
#include <unistd.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/signals.h"
#include "common/vector.h"
#include "record/proc/proc_files.h"
#include "record/software/shared/tracee.h"
#include "record/software/stopped.h"
#include "record/software/watch_state.h"

#define OPTIONS                                                                                                        \
	(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK)

#define PENDING_MAX 64   /* signals of a thread that are looked at */
#define PENDING_ROUNDS 8 /* attempts to take a signal from a thread */

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

/* Puts all threads of a process into the runtime. reached: the stopped thread that has reached the function. */
static void attach(struct watch *watch, struct watched reached)
{
	struct software_stopped stopped = {.pid = reached.pid};
	struct watched thread = reached; /* all threads of the process have the same breakpoints */
	bool done = true;

	for (size_t i = 0; done && i < watch->count; i++)
		if (watch->threads[i].pid == reached.pid)
			done = software_stopped_add(&stopped, watch->threads[i].tid);
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

static void on_breakpoint(struct watch *watch, struct watched *thread)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, thread->tid, 0, &regs) == 0 && regs.rip != thread->breakpoints[WATCH_LINKER] &&
	    !watch->ending && !shares_memory(thread->pid)) {
		attach(watch, *thread);
		return;
	}
	if (regs.rip == thread->breakpoints[WATCH_LINKER])
		software_watch_look(watch, thread->pid, thread->tid);
	if (watch->by_code && !software_watch_step_over(thread)) {
		forget(watch, thread->tid);
		return;
	}
	ptrace(PTRACE_CONT, thread->tid, 0, 0);
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
	ptrace(PTRACE_CONT, tid, 0, 0);
}

/* Gives a new thread the breakpoints of its process, and a new process the breakpoints of its parent. */
static void on_first_stop(struct watch *watch, pid_t tid)
{
	const struct watched *thread = add_watched(watch, tid);

	if (thread)
		software_watch_look(watch, thread->pid, tid);
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
	else if (event == PTRACE_EVENT_STOP && signal != SIGTRAP)
		ptrace(PTRACE_LISTEN, tid, 0, 0);
	else if (event == PTRACE_EVENT_STOP)
		on_interruption(watch, thread);
	else if (!event && signal == SIGTRAP && is_breakpoint(watch, thread))
		on_breakpoint(watch, thread);
	else
		ptrace(PTRACE_CONT, tid, 0, event ? 0 : signal);
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

	while ((tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0)
		if (WIFSTOPPED(status))
			on_stop(watch, tid, status);
		else
			forget(watch, tid);
	/* Nobody is left. */
	if (tid < 0 && errno == ECHILD && watch->count == 0 && watch->began)
		watch->ending = true;
	watch->began |= watch->count != 0;
}

/* Lets all threads go on natively, also threads and processes that begin meanwhile. */
static void let_all_go(struct watch *watch)
{
	watch->ending = true;
	for (take_stops(watch); watch->count; take_stops(watch)) {
		const struct watched thread = watch->threads[--watch->count];
		struct software_stopped stopped = {.pid = thread.pid};

		if (watch->by_code && software_watch_stop_thread(&thread)) {
			software_watch_clear(&thread);
			ptrace(PTRACE_INTERRUPT, thread.tid, 0, 0);
			ptrace(PTRACE_CONT, thread.tid, 0, 0);
		}
		ptrace(PTRACE_INTERRUPT, thread.tid, 0, 0);
		if (software_tracee_stop(thread.tid, 1000) != 1)
			continue;
		take_pending_breakpoint(watch, &thread);
		software_watch_disarm(thread.tid);
		if (software_stopped_add(&stopped, thread.tid))
			software_stopped_release(&stopped);
		free(stopped.threads);
	}
}

static _Noreturn void watch_and_end(struct watch *watch, pid_t parent)
{
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
		signal = watch->ending ? 0 : sigwaitinfo(&signals, NULL);
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
	return ask(watch, (int32_t)pid) ? 0 : common_fail(PTL_SYSTEM, "process %u cannot be watched", pid);
}

unsigned software_watch_reached(const struct software_watch *watch)
{
	char bytes[64];
	const ssize_t size = watch->pid > 0 ? read(watch->attached, bytes, sizeof(bytes)) : 0;

	return size > 0 ? (unsigned)size : 0;
}

void software_watch_stop(struct software_watch *watch)
{
	if (watch->pid <= 0)
		return;
	kill(watch->pid, SIGTERM);
	while (waitpid(watch->pid, NULL, 0) < 0 && errno == EINTR)
		;
	watch->pid = 0;
}
