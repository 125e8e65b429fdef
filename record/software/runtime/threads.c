/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads: slots, creation by clone and fork, exit. */
#include <errno.h>
#include <asm/prctl.h>
#include <linux/sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "record/software/runtime/encoder.h"
#include "record/software/runtime/runtime.h"

#define SLOT_WAIT_NS 100000l
#define SLOT_WAITS_MAX 20000u
#define STACK_SIZE 65536u
#define ALTSTACK_SIZE 65536u
/* time for other threads to write their last packets when the process ends, per wait */
#define END_WAIT_NS 200000l
#define END_WAITS_MAX 100u
#define CHILDREN_MAX 256u
#define SHARERS_MAX 64u

_Static_assert(sizeof(struct channel_slot) <= RUNTIME_THREAD_AT, "the thread stands behind its slot");
_Static_assert(STACK_SIZE + ALTSTACK_SIZE + RUNTIME_PENDING_MAX * sizeof(struct runtime_pending_signal) <=
		       CHANNEL_RUNTIME_SIZE,
	       "the stacks fit");
_Static_assert(RUNTIME_TARGETS == CHANNEL_SLOT_STATE_SIZE && RUNTIME_TARGETS_MASK == CHANNEL_TARGETS_SIZE - 16,
	       "the table of targets stands behind the slot's state");
_Static_assert(RUNTIME_THREAD_AT + sizeof(struct runtime_thread) <= RUNTIME_RETURNS - 4 * RUNTIME_RETURN_STACK_SIZE &&
		       RUNTIME_RETURNS_GUARD + 4096 == RUNTIME_TARGETS,
	       "the return stack and its guard page stand between the thread and the targets");
#define HAS_OFFSET(member, offset)                                                                                     \
	_Static_assert(offsetof(struct runtime_thread, member) + RUNTIME_THREAD_AT == (offset),                        \
		       "layout.h says otherwise")
HAS_OFFSET(regs, RUNTIME_REGS);
HAS_OFFSET(flags, RUNTIME_FLAGS);
HAS_OFFSET(pc, RUNTIME_PC);
HAS_OFFSET(tnt, RUNTIME_TNT);
HAS_OFFSET(limit, RUNTIME_LIMIT);
HAS_OFFSET(target, RUNTIME_TARGET);
HAS_OFFSET(exit, RUNTIME_EXIT);
HAS_OFFSET(reason, RUNTIME_REASON);
HAS_OFFSET(return_top, RUNTIME_RETURN_TOP);
HAS_OFFSET(scratch, RUNTIME_SCRATCH);
HAS_OFFSET(stack, RUNTIME_STACK);
HAS_OFFSET(table, RUNTIME_TABLE);
HAS_OFFSET(entry[0], RUNTIME_TO_LINK);
HAS_OFFSET(entry[5], RUNTIME_TO_OTHER);
HAS_OFFSET(in_syscall, RUNTIME_IN_SYSCALL);
HAS_OFFSET(pending, RUNTIME_PENDING);
HAS_OFFSET(self, RUNTIME_SELF);
HAS_OFFSET(entry[6], RUNTIME_TO_VALUES);
HAS_OFFSET(entered, RUNTIME_ENTERED);
HAS_OFFSET(return_sites, RUNTIME_RETURN_SITES);
_Static_assert(offsetof(struct channel_slot, pt_head) == RUNTIME_SLOT_PT_HEAD &&
		       offsetof(struct channel_slot, pt_bias) == RUNTIME_SLOT_PT_BIAS &&
		       offsetof(struct channel_slot, pt_limit) == RUNTIME_SLOT_PT_LIMIT &&
		       offsetof(struct channel_slot, last_ip) == RUNTIME_SLOT_LAST_IP &&
		       offsetof(struct channel_slot, instructions) == RUNTIME_SLOT_INSTRUCTIONS,
	       "layout.h says otherwise");

/* ---- slots ---- */

struct channel_slot *runtime_slot_at(uint32_t index)
{
	return (struct channel_slot *)(void *)(runtime.arena + channel_slot_offset(&runtime.config, index));
}

uint32_t runtime_slot_index(const struct channel_slot *slot)
{
	return (uint32_t)(((uint64_t)slot - (uint64_t)runtime.arena - channel_slots(&runtime.config)) /
			  channel_slot_size(&runtime.config));
}

static void raise_slot_high(uint32_t high)
{
	uint32_t old = __atomic_load_n(&runtime.header->slot_high, __ATOMIC_RELAXED);

	while (old < high && !__atomic_compare_exchange_n(&runtime.header->slot_high, &old, high, false,
							  __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
}

static bool claim_at(uint32_t index)
{
	struct channel_slot *slot = runtime_slot_at(index);
	uint32_t expected = CHANNEL_SLOT_FREE;

	if (!__atomic_compare_exchange_n(&slot->status, &expected, CHANNEL_SLOT_CLAIMED, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return false;
	raise_slot_high(index + 1);
	__atomic_add_fetch(&runtime.header->slots_claimed, 1, __ATOMIC_RELAXED);
	return true;
}

static struct channel_slot *find_slot(bool *ended)
{
	*ended = false;
	for (uint32_t i = 0; i < runtime.config.slot_count; i++) {
		uint32_t status;

		if (claim_at(i))
			return runtime_slot_at(i);
		status = __atomic_load_n(&runtime_slot_at(i)->status, __ATOMIC_RELAXED);
		*ended |= status == CHANNEL_SLOT_ENDED || status == CHANNEL_SLOT_FREE;
	}
	return NULL;
}

/* Claims a free slot. Slots of ended threads become free after the recorder has read their data. */
static struct channel_slot *claim_slot(void)
{
	const struct timespec interval = {0, SLOT_WAIT_NS};

	for (unsigned waits = 0; waits < SLOT_WAITS_MAX && !runtime_recorder_gone(); waits++) {
		bool ended;
		struct channel_slot *slot = find_slot(&ended);

		if (slot)
			return slot;
		if (!ended)
			break;
		runtime_ring_doorbell();
		RUNTIME_CALL(SYS_nanosleep, &interval, 0);
	}
	return NULL;
}

/* Maps a slot outside of the arena; packets of such a slot are discarded. */
static struct channel_slot *dummy_slot(void)
{
	return runtime_map(channel_slot_size(&runtime.config), PROT_READ | PROT_WRITE, 0, true);
}

/* False: the return stack could not get its guard page. */
static bool prepare(struct runtime_thread *thread, struct channel_slot *slot, bool is_dummy)
{
	uint8_t *extra = (uint8_t *)slot + channel_slot_runtime(&runtime.config);
	struct runtime_target *targets = (struct runtime_target *)(void *)((uint8_t *)slot + RUNTIME_TARGETS);

	memset(thread, 0, sizeof(*thread));
	*thread = (struct runtime_thread){
		.tnt = 1,
		.stack = (uint64_t)extra + STACK_SIZE,
		.table = runtime_cache_table(),
		.return_sites = runtime_cache_return_sites(),
		.return_top = runtime_returns(slot) - 1,
		.entry = {runtime_to_link, runtime_to_check, runtime_to_indirect, runtime_to_return_miss,
			  runtime_to_syscall, runtime_to_other, runtime_to_values},
		.self = thread,
		.slot = slot,
		.signals = (struct runtime_pending_signal *)(void *)(extra + STACK_SIZE + ALTSTACK_SIZE),
		.is_dummy = is_dummy,
		.name_fd = -1,
		.altstack_flags = 2, /* SS_DISABLE */
	};
	/* All entries are zero, and the first would match address 0. No address of the first entry is 16. */
	targets[0].pc = 16;
	return RUNTIME_CALL(SYS_mprotect, (uint8_t *)slot + RUNTIME_RETURNS_GUARD,
			    RUNTIME_TARGETS - RUNTIME_RETURNS_GUARD, PROT_NONE) == 0;
}

struct runtime_thread *runtime_thread_new(void)
{
	struct channel_slot *slot = runtime_recorder_gone() ? NULL : claim_slot();
	const bool is_dummy = !slot;

	if (is_dummy) {
		if (!runtime_recorder_gone())
			__atomic_add_fetch(&runtime.header->untraced_threads, 1, __ATOMIC_RELAXED);
		slot = dummy_slot();
	}
	if (!slot)
		return NULL;
	if (prepare(runtime_thread_of(slot), slot, is_dummy))
		return runtime_thread_of(slot);
	if (!is_dummy)
		__atomic_store_n(&slot->status, CHANNEL_SLOT_FREE, __ATOMIC_RELEASE);
	return NULL;
}

void runtime_thread_release(struct runtime_thread *thread)
{
	if (thread->is_dummy)
		return;
	thread->slot->process = 0;
	thread->slot->newborn = 0;
	__atomic_store_n(&thread->slot->status, CHANNEL_SLOT_FREE, __ATOMIC_RELEASE);
}

void runtime_thread_ids(uint32_t *pid, uint32_t *tid)
{
	char text[64];
	int64_t length = runtime_proc_readlink("thread-self", "/proc/thread-self", text, sizeof(text) - 1);
	uint32_t numbers[2] = {0, 0};
	unsigned which = 0;

	/* "PID/task/TID" in the pid namespace of the /proc mount */
	for (int64_t i = 0; i < length; i++) {
		if (text[i] >= '0' && text[i] <= '9')
			numbers[which] = numbers[which] * 10 + (uint32_t)(text[i] - '0');
		else if (text[i] == '/' && which == 0)
			which = 1;
	}
	*pid = numbers[0];
	*tid = numbers[1];
	if (numbers[0] && numbers[1])
		return;
	*pid = (uint32_t)RUNTIME_CALL(SYS_getpid, 0);
	*tid = (uint32_t)RUNTIME_CALL(SYS_gettid, 0);
}

/* Gives a claimed slot an empty stream, with the clock at `time`. */
static void prepare_slot(struct runtime_thread *thread, uint64_t time)
{
	struct channel_slot *slot = thread->slot;

	slot->generation++;
	slot->pt_tail = slot->message_tail = 0;
	slot->message_head = 0;
	slot->producer_waiting = 0;
	slot->request = slot->reply;
	slot->cpu = 0;
	slot->newborn = 0;
	slot->process = thread->process;
	runtime_encoder_start(slot, &runtime.config, (uint8_t *)slot + channel_slot_pt_ring(&runtime.config));
	slot->kick = (struct channel_kick){.behind = (uint64_t)runtime_syscall_behind,
					   .kicked = (uint64_t)runtime_syscall_kicked};
	slot->virtual_offset = time;
	slot->time = runtime.config.clock == PTL_CLOCK_VIRTUAL ? time : 0;
	thread->tnt = 1;
}

/*
 * Threads of other processes with this memory: children of vfork, and of clone with CLONE_VM. SIGKILL ends such a thread
 * unnoticed, and another process may then get the thread's slot. The list goes through the slots, so these threads are not in
 * the list. runtime.threads_lock guards the sharers.
 */
static struct sharer {
	struct runtime_thread *thread;
	uint32_t process;
} sharers[SHARERS_MAX];

static bool is_living(const struct sharer *sharer)
{
	const struct runtime_thread *thread = sharer->thread;

	return thread && thread->process == sharer->process &&
	       (thread->is_dummy || __atomic_load_n(&thread->slot->status, __ATOMIC_RELAXED) == CHANNEL_SLOT_LIVE);
}

/* A sharer that finds all places taken is not called at a change of the address space. */
static void add_sharer(struct runtime_thread *thread)
{
	for (unsigned i = 0; i < SHARERS_MAX; i++)
		if (!is_living(&sharers[i])) {
			sharers[i] = (struct sharer){thread, thread->process};
			break;
		}
}

static void add_thread(struct runtime_thread *thread)
{
	runtime_lock(&runtime.threads_lock);
	if (thread->process != runtime.process) {
		add_sharer(thread);
	} else {
		thread->next = runtime.threads;
		runtime.threads = thread;
	}
	runtime_unlock(&runtime.threads_lock);
}

/* Makes a prepared slot live. */
static void make_live(struct runtime_thread *thread)
{
	struct channel_slot *slot = thread->slot;

	slot->pid = thread->pid;
	slot->tid = thread->tid;
	if (!thread->is_dummy)
		__atomic_store_n(&slot->status, CHANNEL_SLOT_LIVE, __ATOMIC_RELEASE);
	add_thread(thread);
}

void runtime_thread_start(struct runtime_thread *thread, uint64_t time)
{
	prepare_slot(thread, time);
	make_live(thread);
}

static void remove_from_list(struct runtime_thread *thread)
{
	runtime_lock(&runtime.threads_lock);
	for (struct runtime_thread **link = &runtime.threads; *link; link = &(*link)->next)
		if (*link == thread) {
			*link = thread->next;
			break;
		}
	for (unsigned i = 0; i < SHARERS_MAX; i++)
		if (sharers[i].thread == thread)
			sharers[i].thread = NULL;
	runtime_unlock(&runtime.threads_lock);
}

void runtime_thread_end(struct runtime_thread *thread)
{
	remove_from_list(thread);
}

void runtime_thread_call(struct runtime_thread *thread)
{
	__atomic_store_n(&thread->limit, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&thread->slot->pt_limit, 0, __ATOMIC_SEQ_CST);
}

void runtime_thread_call_all(void)
{
	runtime_lock(&runtime.threads_lock);
	for (struct runtime_thread *thread = runtime.threads; thread; thread = thread->next)
		runtime_thread_call(thread);
	for (unsigned i = 0; i < SHARERS_MAX; i++)
		if (is_living(&sharers[i]))
			runtime_thread_call(sharers[i].thread);
	runtime_unlock(&runtime.threads_lock);
}

/* ---- beginning ---- */

/* Children that the program has not waited for, by their ids in this process's pid namespace. runtime.threads_lock guards them. */
static struct {
	uint32_t pid, process;
} children[CHILDREN_MAX];

/*
 * Runs first in a child, on the child's own stack. The parent's state is in the child's thread. stack: the program's
 * new stack, or 0.
 */
__attribute__((used)) void runtime_child(struct runtime_thread *thread, struct runtime_thread *parent, uint64_t stack);

/*
 * Puts the child's first message into the child's ring, before the child exists: SIGKILL may end the child before its first
 * instruction. Returns the message's sequence number; 0 if the message was not sent.
 */
static uint64_t announce_child(struct runtime_thread *child, const struct runtime_thread *parent)
{
	struct channel_message_process_start message = {
		.header.type = CHANNEL_MSG_PROCESS_START,
		.how = CHANNEL_PROCESS_FORK,
		.parent_pid = parent->pid,
		.parent_process = parent->process,
		.parent_tid = parent->tid,
		.epoch = runtime.epoch,
		.parent_epoch = runtime.epoch,
	};

	child->slot->newborn = (uint64_t)child->process << 32;
	return runtime_send(child, &message.header, sizeof(message), NULL, 0) ? message.header.sequence : 0;
}

/* The number of an unsent message is not missing if no other message was sent. */
static void revoke_child(struct runtime_thread *child, uint64_t sequence)
{
	if (sequence)
		__atomic_compare_exchange_n(&runtime.header->sequence, &sequence, sequence - 1, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
	runtime_thread_release(child);
}

/* Only the parent knows the pid of a child that has not begun. The slot may already belong to another thread. */
static void note_pid(struct channel_slot *slot, uint32_t process, uint32_t pid)
{
	uint64_t newborn = (uint64_t)process << 32;

	__atomic_compare_exchange_n(&slot->newborn, &newborn, newborn | pid, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

void runtime_child(struct runtime_thread *thread, struct runtime_thread *parent, uint64_t stack)
{
	const bool same_process = thread->process == parent->process;

	RUNTIME_CALL(SYS_arch_prctl, ARCH_SET_GS, thread->slot);
	runtime_thread_ids(&thread->pid, &thread->tid);
	thread->own_tid = (uint32_t)RUNTIME_CALL(SYS_gettid, 0);
	if (!same_process && !thread->creator_tid) {
		/* In the copy of the parent's memory this thread is the only thread. */
		runtime.pid = thread->pid;
		runtime.process = thread->process;
		runtime.threads = NULL;
		runtime.ending = false;
		runtime.releasing = false;
		runtime.threads_lock = (struct runtime_lock){0};
		runtime.lock = (struct runtime_lock){0};
		memset(children, 0, sizeof(children));
		memset(sharers, 0, sizeof(sharers));
		runtime_signals_separate(thread);
	}
	make_live(thread);
	if (same_process) {
		struct channel_message_thread_start message = {.header.type = CHANNEL_MSG_THREAD_START,
							       .parent_tid = parent->tid};

		runtime_send(thread, &message.header, sizeof(message), NULL, 0);
	}
	thread->regs[RAX] = 0;
	if (stack)
		thread->regs[RSP] = stack;
	if (thread->clears_handlers)
		runtime_signals_cleared(thread);
	thread->reason = RUNTIME_REASON_START;
	runtime_signals_thread(thread);
	{
		const uint64_t mask = thread->mask;

		RUNTIME_CALL(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &mask, 0, 8);
	}
}

/* If all places are taken, the child's status is known only if the child exits by itself. */
static void remember_child(uint32_t pid, uint32_t process)
{
	runtime_lock(&runtime.threads_lock);
	for (unsigned i = 0; i < CHILDREN_MAX; i++)
		if (!children[i].pid || children[i].pid == pid) {
			children[i].pid = pid;
			children[i].process = process;
			break;
		}
	runtime_unlock(&runtime.threads_lock);
}

uint32_t runtime_thread_forget_child(uint32_t pid)
{
	uint32_t process = 0;

	runtime_lock(&runtime.threads_lock);
	for (unsigned i = 0; i < CHILDREN_MAX; i++)
		if (children[i].pid == pid) {
			process = children[i].process;
			children[i].pid = 0;
			break;
		}
	runtime_unlock(&runtime.threads_lock);
	return process;
}

int64_t runtime_do_clone(struct runtime_thread *thread, int64_t number)
{
	uint64_t flags = number == SYS_clone ? thread->regs[RDI] : number == SYS_vfork ? CLONE_VM | CLONE_VFORK : 0;
	struct runtime_thread *child;
	uint64_t all = ~0ull, old = 0, announced = 0;
	struct channel_slot *slot;
	uint32_t child_process;
	int64_t result;

	if (number == SYS_clone3) {
		uint64_t first = 0;

		if (!runtime_copy(&first, (const void *)thread->regs[RDI], sizeof(first)))
			return runtime_program_syscall(thread);
		flags = first;
	}
	child = runtime_thread_new();
	if (!child)
		return -ENOMEM;
	memcpy(child->regs, thread->regs, sizeof(child->regs));
	child->flags = thread->flags;
	child->pc = thread->pc;
	child->birth_time = runtime_now(thread);
	child->process = thread->process;
	child->defaults = thread->defaults;
	child->clears_handlers = number == SYS_clone3 && flags & CLONE_CLEAR_SIGHAND;
	if (!(flags & CLONE_THREAD))
		child->process = __atomic_add_fetch(&runtime.header->next_process, 1, __ATOMIC_RELAXED);
	/* creator_tid: the child shares the parent's memory. */
	child->creator_tid = flags & CLONE_VM ? thread->tid : 0;
	if (!(flags & CLONE_VM)) {
		child->rseq = thread->rseq;
		child->rseq_size = thread->rseq_size;
		child->rseq_signature = thread->rseq_signature;
	}
	if (flags & CLONE_VFORK || !(flags & CLONE_VM)) {
		child->altstack = thread->altstack;
		child->altstack_size = thread->altstack_size;
		child->altstack_flags = thread->altstack_flags;
	}
	/* Signals are blocked until the child can store a signal. */
	RUNTIME_CALL(SYS_rt_sigprocmask, 2, &all, &old, 8);
	/* A pending signal is handled first: meanwhile the thread's mask is not the program's mask. */
	if (thread->pending) {
		RUNTIME_CALL(SYS_rt_sigprocmask, 2, &old, 0, 8);
		runtime_thread_release(child);
		return -512;
	}
	child->mask = old;
	prepare_slot(child, child->birth_time);
	if (!(flags & CLONE_VM)) {
		runtime_lock(&runtime.lock);
		runtime_lock(&runtime.threads_lock);
	}
	/* The child's slot, with `child`, may belong to another thread afterwards. */
	child_process = child->process;
	slot = child->is_dummy ? NULL : child->slot;
	if (child_process != thread->process)
		announced = announce_child(child, thread);
	result = runtime_clone(thread, child);
	if (!(flags & CLONE_VM)) {
		runtime_unlock(&runtime.threads_lock);
		runtime_unlock(&runtime.lock);
	}
	if (result < 0)
		revoke_child(child, announced);
	else if (child_process != thread->process && thread->own_tid != thread->tid)
		remember_child((uint32_t)result, child_process);
	else if (child_process != thread->process && slot)
		note_pid(slot, child_process, (uint32_t)result);
	RUNTIME_CALL(SYS_rt_sigprocmask, 2, &old, 0, 8);
	return result;
}

/* ---- end ---- */

static bool is_last_thread(void)
{
	bool last;

	runtime_lock(&runtime.threads_lock);
	last = !runtime.threads || !runtime.threads->next;
	runtime_unlock(&runtime.threads_lock);
	return last;
}

static void send_exit(struct runtime_thread *thread, uint64_t code)
{
	struct channel_message_exit message = {
		.header.type = CHANNEL_MSG_EXIT,
		.status = (uint32_t)(code & 0xff) << 8,
	};

	runtime_send(thread, &message.header, sizeof(message), NULL, 0);
}

/* Gives other threads that execute code a moment to complete their packets. */
void runtime_threads_settle(struct runtime_thread *thread)
{
	const struct timespec interval = {0, END_WAIT_NS};

	if (is_last_thread() || thread->process != runtime.process)
		return;
	__atomic_store_n(&runtime.ending, true, __ATOMIC_SEQ_CST);
	runtime_thread_call_all();
	for (unsigned i = 0; i < END_WAITS_MAX; i++) {
		bool working = false;

		runtime_lock(&runtime.threads_lock);
		for (struct runtime_thread *other = runtime.threads; other; other = other->next)
			working |= other != thread && !__atomic_load_n(&other->in_syscall, __ATOMIC_SEQ_CST);
		runtime_unlock(&runtime.threads_lock);
		if (!working)
			return;
		RUNTIME_CALL(SYS_nanosleep, &interval, 0);
	}
}

/* Lets the other threads go on after a failed execve. */
void runtime_threads_resume(struct runtime_thread *thread)
{
	if (thread->process == runtime.process)
		__atomic_store_n(&runtime.ending, false, __ATOMIC_SEQ_CST);
}

_Noreturn void runtime_do_exit(struct runtime_thread *thread, int64_t number)
{
	const uint64_t code = thread->regs[RDI], all = ~0ull;
	/* A vfork child is not in the thread list of its parent. */
	const bool is_process = number == SYS_exit_group || (thread->process == runtime.process && is_last_thread());
	static uint32_t nobody;
	uint32_t *word = thread->is_dummy ? &nobody : &thread->slot->status;

	if (number == SYS_exit) {
		struct channel_message_thread_end message = {.header.type = CHANNEL_MSG_THREAD_END,
							     .status = (uint32_t)code};

		runtime_send(thread, &message.header, sizeof(message), NULL, 0);
	} else if (thread->process == runtime.process) {
		runtime_threads_settle(thread);
	}
	if (is_process || thread->process != runtime.process)
		send_exit(thread, code);
	RUNTIME_CALL(SYS_rt_sigprocmask, 2, &all, 0, 8);
	remove_from_list(thread);
	runtime_ring_doorbell();
	/* Once the word is written, another thread may get the slot, and the stack in the slot. */
	runtime_exit(word, (uint64_t)number, code, thread->is_dummy ? 0 : CHANNEL_SLOT_ENDED);
}

/* Continues, after execve, the stream of the first thread in the same slot with a new PSB. */
bool runtime_thread_continue(struct runtime_thread *thread)
{
	struct channel_slot *slot = (struct channel_slot *)(void *)((uint8_t *)thread - RUNTIME_THREAD_AT);

	/* The old program's targets. */
	memset((uint8_t *)slot + RUNTIME_TARGETS, 0, CHANNEL_TARGETS_SIZE);
	if (!prepare(thread, slot, false))
		return false;
	slot->pt_bias = (uint64_t)slot + channel_slot_pt_ring(&runtime.config) - slot->pt_lap;
	slot->epoch = 0; /* so that a PSB is due */
	slot->cpu = 0;
	slot->kick = (struct channel_kick){.behind = (uint64_t)runtime_syscall_behind,
					   .kicked = (uint64_t)runtime_syscall_kicked};
	thread->pid = runtime.pid;
	thread->tid = slot->tid;
	thread->process = runtime.process;
	runtime_encoder_set_limit(slot, &runtime.config);
	runtime_lock(&runtime.threads_lock);
	thread->next = NULL;
	runtime.threads = thread;
	runtime_unlock(&runtime.threads_lock);
	return true;
}

void runtime_thread_again(struct runtime_thread *thread)
{
	add_thread(thread);
}
