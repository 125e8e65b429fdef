/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/software/stopped.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/vector.h"
#include "record/proc/maps.h"
#include "record/software/denied.h"
#include "record/software/shared/tracee.h"

#define ROUNDS_MAX 1000u /* rounds of listing new threads */
#define STOP_TIME 10000u /* milliseconds */
#define SCRATCH 16384u   /* bytes for the arena's path, and more */
#define NO_CALL ((uint64_t)-1)
#define SEARCH_MAX (1ull << 30) /* bytes of code to search for an instruction */

static bool fail(struct software_stopped *stopped, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool fail(struct software_stopped *stopped, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(stopped->text, sizeof(stopped->text), format, arguments);
	va_end(arguments);
	return false;
}

/* ---- stopping -------------------------------------------------------------------------------- */

static bool is_known(const struct software_stopped *stopped, pid_t tid)
{
	for (size_t i = 0; i < stopped->count; i++)
		if (stopped->threads[i].tid == tid)
			return true;
	return false;
}

bool software_stopped_add(struct software_stopped *stopped, pid_t tid)
{
	if (!COMMON_VECTOR_GROW(stopped->threads, stopped->capacity, stopped->count + 1))
		return fail(stopped, "no memory for the threads of process %d", stopped->pid);
	stopped->threads[stopped->count++] = (struct software_stopped_thread){.tid = tid};
	return true;
}

static bool seize(struct software_stopped *stopped, pid_t tid, unsigned options)
{
	int error;

	if (ptrace(PTRACE_SEIZE, tid, 0, options) == 0) {
		ptrace(PTRACE_INTERRUPT, tid, 0, 0);
		return software_stopped_add(stopped, tid);
	}
	error = errno;
	/* Threads of a traced process are traced from their beginning. */
	if (error == EPERM && ptrace(PTRACE_INTERRUPT, tid, 0, 0) == 0)
		return software_stopped_add(stopped, tid);
	if (error == ESRCH || software_denied_has_ended(stopped->pid, tid))
		return true;
	if (error == EPERM) {
		software_denied_explain(stopped->pid, tid, stopped->text, sizeof(stopped->text));
		return false;
	}
	return fail(stopped, "thread %d: %s", tid, strerror(error));
}

/* Seizes threads missing in the list. *is_new: the list has grown. */
static bool look(struct software_stopped *stopped, unsigned options, bool *is_new)
{
	const size_t first = stopped->count;
	char path[64];
	struct dirent *entry;
	DIR *folder;
	bool fine = true;

	snprintf(path, sizeof(path), "/proc/%d/task", stopped->pid);
	folder = opendir(path);
	if (!folder)
		return fail(stopped, "there is no process %d", stopped->pid);
	while (fine && (entry = readdir(folder))) {
		const pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid > 0 && !is_known(stopped, tid))
			fine = seize(stopped, tid, options);
	}
	closedir(folder);
	*is_new = stopped->count > first;
	while (stopped->confirmed < stopped->count) {
		struct software_stopped_thread *thread = &stopped->threads[stopped->confirmed];
		const int state = software_tracee_stop(thread->tid, STOP_TIME);

		if (state < 0)
			return fail(stopped, "thread %d does not stop: it waits in the kernel without interruption",
				    thread->tid);
		if (state)
			stopped->confirmed++;
		else
			*thread = stopped->threads[--stopped->count];
	}
	return fine;
}

bool software_stop_threads(struct software_stopped *stopped, unsigned options)
{
	bool is_new = true;

	for (unsigned i = 0; is_new && i < ROUNDS_MAX; i++)
		if (!look(stopped, options, &is_new))
			return false;
	if (!stopped->count)
		return fail(stopped, "process %d has ended", stopped->pid);
	/* Moves the main thread to the front: it acts for the process. */
	for (size_t i = 1; i < stopped->count; i++)
		if (stopped->threads[i].tid == stopped->pid) {
			const struct software_stopped_thread first = stopped->threads[0];

			stopped->threads[0] = stopped->threads[i];
			stopped->threads[i] = first;
		}
	/* Without a main thread, /proc/PID has no mappings. */
	if (stopped->threads[0].tid != stopped->pid)
		return fail(stopped, SOFTWARE_NO_MAIN_THREAD, stopped->pid);
	return true;
}

/* ---- what each thread was doing -------------------------------------------------------------- */

static bool prepare(struct software_stopped *stopped, struct software_stopped_thread *thread)
{
	const struct software_tracee tracee = {.pid = thread->tid};
	const uint64_t all = ~0ull;

	if (!software_tracee_is_64_bit(&tracee))
		return fail(stopped, "process %d executes 32-bit code: only x86-64 programs can be recorded",
			    stopped->pid);
	if (ptrace(PTRACE_GETREGS, thread->tid, 0, &thread->regs) < 0 ||
	    ptrace(PTRACE_GETSIGMASK, thread->tid, sizeof(thread->mask), &thread->mask) < 0)
		return fail(stopped, "thread %d: %s", thread->tid, strerror(errno));
	software_tracee_mend_call(&thread->regs);
	stopped->busy = thread->regs.gs_base != 0;
	if (stopped->busy)
		return fail(
			stopped,
			"process %d uses its %%gs base, which the software source needs: it is being recorded already, "
			"or is a program such as Wine",
			stopped->pid);
	if (ptrace(PTRACE_SETSIGMASK, thread->tid, sizeof(all), &all) < 0)
		return fail(stopped, "thread %d: %s", thread->tid, strerror(errno));
	thread->prepared = true;
	return true;
}

/* Reads a word of the thread's memory; 0 if unreadable. */
static uint64_t read_word(pid_t tid, uint64_t address)
{
	const struct software_tracee tracee = {.pid = tid};
	uint64_t word = 0;

	return software_tracee_peek(&tracee, address, &word) ? word : 0;
}

/* Moves a thread inside a restartable sequence to the abort handler; the runtime unregisters struct rseq. */
static void end_sequence(struct runtime_attach_thread *thread)
{
	struct {
		uint64_t address;
		uint32_t size, signature, flags, pad;
	} rseq = {0};
	uint64_t sequence, start, length;

	if (software_trace(0x420f /* PTRACE_GET_RSEQ_CONFIGURATION */, thread->tid, sizeof(rseq), (uint64_t)&rseq) <
		    0 ||
	    !rseq.address)
		return;
	thread->rseq = rseq.address;
	thread->rseq_size = rseq.size;
	thread->rseq_signature = rseq.signature;
	/* struct rseq's rseq_cs; struct rseq_cs: two words, start_ip, post_commit_offset, abort_ip. */
	sequence = read_word(thread->tid, rseq.address + 8);
	if (!sequence)
		return;
	start = read_word(thread->tid, sequence + 8);
	length = read_word(thread->tid, sequence + 16);
	if (thread->pc - start < length)
		thread->pc = read_word(thread->tid, sequence + 24);
}

static void describe(struct runtime_attach_thread *out, const struct software_stopped_thread *thread)
{
	uint64_t number;

	*out = (struct runtime_attach_thread){
		.tid = thread->tid,
		.pc = thread->regs.rip,
		.flags = thread->regs.eflags,
		.mask = thread->mask,
	};
	software_tracee_registers(&thread->regs, out->registers);
	out->restart = software_tracee_restart(&thread->regs, &number);
	if (out->restart != RUNTIME_RESTART_NEVER) {
		out->registers[0] = number;
		out->pc -= 2;
	}
	end_sequence(out);
}

/* ---- the process's memory -------------------------------------------------------------------- */

/* left: bytes that may still be searched. */
static uint64_t find_in(pid_t pid, const struct record_map_entry *entry, uint64_t *left)
{
	uint8_t page[4096 + 1];
	uint64_t found = 0;

	for (uint64_t at = entry->base; !found && at < entry->end && *left; at += 4096, *left -= 4096) {
		struct iovec local = {page, sizeof(page)}, remote = {(void *)(uintptr_t)at, sizeof(page)};
		const ssize_t size = process_vm_readv(pid, &local, 1, &remote, 1, 0);

		for (ssize_t i = 0; !found && i + 1 < size; i++)
			if (page[i] == 0x0f && page[i + 1] == 0x05)
				found = at + (uint64_t)i;
	}
	return found;
}

/* Returns the address of a `syscall` instruction in the process's code, first in the vDSO; 0: not found. */
static uint64_t find_syscall(pid_t pid)
{
	static struct record_map_entry entry;
	uint64_t found = 0, left = SEARCH_MAX;

	for (unsigned round = 0; !found && round < 2; round++) {
		struct record_maps maps;

		record_maps_open(&maps, (uint32_t)pid);
		while (!found && record_maps_next(&maps, &entry))
			if (entry.executable && (round || entry.of_kernel))
				found = find_in(pid, &entry, &left);
		record_maps_close(&maps);
	}
	return found;
}

/* Runs the runtime's preparation in the stopped first thread, up to the system call that reports the end. */
static bool run_prepare(struct software_stopped *stopped, const struct software_tracee *tracee,
			const struct channel_config *config, const struct runtime_attach *attach, uint64_t where)
{
	struct user_regs_struct regs = tracee->regs;

	regs.rip = attach->base + config->runtime_entry;
	regs.rdi = where;
	regs.rsi = RUNTIME_ENTRY_PREPARE;
	regs.orig_rax = NO_CALL;
	if (ptrace(PTRACE_SETREGS, tracee->pid, 0, &regs) < 0)
		return fail(stopped, "process %d has ended", stopped->pid);
	for (;;) {
		if (!software_tracee_next_call(tracee) || ptrace(PTRACE_GETREGS, tracee->pid, 0, &regs) < 0)
			return fail(stopped, "process %d has ended", stopped->pid);
		if (regs.orig_rax == RUNTIME_PREPARED_CALL)
			return software_tracee_next_call(tracee) || fail(stopped, "process %d has ended", stopped->pid);
		if (!software_tracee_next_call(tracee))
			return fail(stopped, "process %d has ended", stopped->pid);
	}
}

static bool explain(struct software_stopped *stopped, uint32_t result)
{
	switch (result) {
	case RUNTIME_ATTACH_DONE:
		return true;
	case RUNTIME_ATTACH_NO_SLOT:
		return fail(stopped, "process %d has more threads than the recording has room for: --threads %zu",
			    stopped->pid, 2 * stopped->count);
	case RUNTIME_ATTACH_NO_CACHE:
		return fail(stopped,
			    "process %d gets no memory for translated code: it has too little address space (ulimit "
			    "-v), or a policy (SELinux, PR_SET_MDWE, systemd's MemoryDenyWriteExecute=) forbids memory "
			    "that is writable and executable",
			    stopped->pid);
	case RUNTIME_ATTACH_NO_ARENA:
		return fail(stopped,
			    "process %d cannot map the recorder's memory: it has too little address space (ulimit -v)",
			    stopped->pid);
	default:
		return fail(stopped, "the runtime failed in process %d", stopped->pid);
	}
}

static bool explain_map(struct software_stopped *stopped, enum inject_result result)
{
	switch (result) {
	case INJECT_DONE:
		return true;
	case INJECT_NO_ARENA:
		if (software_denied_forbids(stopped->pid))
			return fail(
				stopped,
				"process %d may not open the recorder's memory, and forbids access by its own user "
				"(PR_SET_DUMPABLE 0, a change of its user or group): record the program from its start",
				stopped->pid);
		return fail(stopped,
			    "process %d may not open the recorder's memory: run ptl-record as the process's user, and "
			    "where "
			    "the process is in a container, in the container",
			    stopped->pid);
	case INJECT_NO_MEMORY:
		return fail(stopped,
			    "process %d cannot map the runtime: a policy (SELinux, PR_SET_MDWE, systemd's "
			    "MemoryDenyWriteExecute=) forbids new code, or memory is scarce",
			    stopped->pid);
	default:
		return fail(stopped, "process %d has ended", stopped->pid);
	}
}

/* Maps memory in the process for struct runtime_attach; 0: failed. */
static uint64_t map_scratch(const struct software_tracee *tracee, uint64_t size)
{
	const int64_t result = software_tracee_call(tracee, SYS_mmap, 0, size, PROT_READ | PROT_WRITE,
						    MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, 0);

	return result < 0 ? 0 : (uint64_t)result;
}

/* After a failure: takes the runtime and the arena out of the process. */
static void unmap_runtime(const struct software_stopped *stopped, const struct software_tracee *tracee,
			  const struct channel_config *config)
{
	static struct record_map_entry entry;
	struct stat arena;

	entry.end = 0;
	if (stat(config->arena_path, &arena) < 0)
		return;
	while (record_maps_find((uint32_t)stopped->pid, &arena, entry.end, &entry))
		software_tracee_call(tracee, SYS_munmap, entry.base, entry.end - entry.base, 0, 0, 0, 0);
}

/*
 * Maps the runtime by system calls of the first thread. attach is filled in. where: address of the structure in the
 * process.
 */
static bool put_runtime(struct software_stopped *stopped, const struct software_tracee *tracee,
			const struct channel_config *config, struct runtime_attach *attach, uint64_t where)
{
	const uint64_t size = sizeof(*attach) + attach->count * sizeof(attach->threads[0]);
	struct iovec local = {attach, size}, remote = {(void *)(uintptr_t)where, size};

	attach->arena = -1;
	if (!explain_map(stopped, software_tracee_map_runtime(tracee, config, where, &attach->arena, &attach->base,
							      &attach->size)))
		return false;
	if (process_vm_writev(stopped->pid, &local, 1, &remote, 1, 0) != (ssize_t)size)
		return fail(stopped, "memory of process %d: %s", stopped->pid, strerror(errno));
	if (!run_prepare(stopped, tracee, config, attach, where))
		return false;
	if (process_vm_readv(stopped->pid, &local, 1, &remote, 1, 0) != (ssize_t)size)
		return fail(stopped, "memory of process %d: %s", stopped->pid, strerror(errno));
	return explain(stopped, attach->result);
}

/* ---- going on -------------------------------------------------------------------------------- */

static void enter_runtime(const struct software_stopped_thread *thread, const struct runtime_attach *attach,
			  const struct channel_config *config, uint64_t runtime_thread)
{
	struct user_regs_struct regs = thread->regs;

	regs.rip = attach->base + config->runtime_entry;
	regs.rdi = runtime_thread;
	regs.rsi = RUNTIME_ENTRY_THREAD;
	regs.orig_rax = NO_CALL;
	ptrace(PTRACE_SETREGS, thread->tid, 0, &regs);
	ptrace(PTRACE_DETACH, thread->tid, 0, 0);
}

/* Returns the first thread to its original stop: the kernel then ends an interrupted call as usual. */
static void go_back(const struct software_stopped_thread *thread)
{
	ptrace(PTRACE_INTERRUPT, thread->tid, 0, 0);
	ptrace(PTRACE_CONT, thread->tid, 0, 0);
	software_tracee_stop(thread->tid, STOP_TIME);
	ptrace(PTRACE_SETREGS, thread->tid, 0, &thread->regs);
}

bool software_stopped_inject(struct software_stopped *stopped, const struct channel_config *config)
{
	const uint64_t size = sizeof(struct runtime_attach) + stopped->count * sizeof(struct runtime_attach_thread);
	const uint64_t all = (size + SCRATCH + 4095) & ~4095ull;
	struct software_tracee tracee = {.pid = stopped->threads[0].tid, .call = find_syscall(stopped->pid)};
	struct runtime_attach *attach = calloc(1, size);
	uint64_t where = 0;
	bool done = attach != NULL;

	for (size_t i = 0; done && i < stopped->count; i++)
		done = prepare(stopped, &stopped->threads[i]);
	if (done && !tracee.call)
		done = fail(stopped, "process %d has no `syscall` instruction", stopped->pid);
	if (!done) {
		free(attach);
		return false;
	}
	tracee.regs = stopped->threads[0].regs;
	attach->pid = (uint32_t)stopped->pid;
	attach->count = (uint32_t)stopped->count;
	attach->all = all;
	for (size_t i = 0; i < stopped->count; i++)
		describe(&attach->threads[i], &stopped->threads[i]);
	where = map_scratch(&tracee, all);
	done = where ? put_runtime(stopped, &tracee, config, attach, where)
		     : fail(stopped, "process %d gets no memory", stopped->pid);
	for (size_t i = 0; done && i < stopped->count; i++)
		enter_runtime(&stopped->threads[i], attach, config, attach->threads[i].thread);
	if (!done) {
		unmap_runtime(stopped, &tracee, config);
		if (where)
			software_tracee_call(&tracee, SYS_munmap, where, all, 0, 0, 0, 0);
		go_back(&stopped->threads[0]);
	} else {
		stopped->count = stopped->confirmed = 0;
	}
	free(attach);
	return done;
}

void software_stopped_release(struct software_stopped *stopped)
{
	software_stopped_end(stopped, PTRACE_DETACH);
}

void software_stopped_end(struct software_stopped *stopped, int request)
{
	for (size_t i = 0; i < stopped->count; i++) {
		struct software_stopped_thread *thread = &stopped->threads[i];

		if (thread->prepared || ptrace(PTRACE_GETREGS, thread->tid, 0, &thread->regs) == 0) {
			software_tracee_mend_call(&thread->regs);
			ptrace(PTRACE_SETREGS, thread->tid, 0, &thread->regs);
		}
		if (thread->prepared)
			ptrace(PTRACE_SETSIGMASK, thread->tid, sizeof(thread->mask), &thread->mask);
		software_trace(request, thread->tid, 0, 0);
	}
	stopped->count = stopped->confirmed = 0;
}
