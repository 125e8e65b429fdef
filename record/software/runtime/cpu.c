/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Virtual CPUs. A thread executes only while it owns a CPU, so that a CPU has packets of one thread at a time. The
 * thread gives up the CPU with each system call, at a PSB if other threads wait, and at its end.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include "record/software/runtime/encoder.h"
#include "record/software/runtime/runtime.h"

#define TRY_NS 10000000l
/*
 * The owner of a CPU may wait for a thread that waits for a CPU. If no CPU has changed hands for this many tries,
 * threads use more CPUs than requested.
 */
#define TRIES_MAX 100u
#define YIELDS_MAX 20u
#define YIELD_NS 50000l

static bool try_cpu(struct channel_slot *slot, uint32_t cpu)
{
	uint64_t *word = &runtime.header->cpus[cpu].owner;
	uint64_t old = __atomic_load_n(word, __ATOMIC_ACQUIRE);

	if (old & CHANNEL_CPU_OWNER)
		return false;
	/* Turn number and owner change in one write, so the state is clear even if the thread is killed. */
	if (!__atomic_compare_exchange_n(word, &old, old + CHANNEL_CPU_TURN + runtime_slot_index(slot) + 1, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return false;
	slot->cpu = cpu + 1;
	return true;
}

static bool try_cpus(struct channel_slot *slot, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (try_cpu(slot, i))
			return true;
	return false;
}

/*
 * Asks the owners of CPUs for a PSB, at which they give up the CPU. Code without packets, such as an endless loop of
 * direct jumps, reaches no PSB by itself.
 */
static void call_owners(void)
{
	for (uint32_t i = 0; i < CHANNEL_CPUS_MAX; i++) {
		const uint64_t owner = __atomic_load_n(&runtime.header->cpus[i].owner, __ATOMIC_ACQUIRE) &
				       CHANNEL_CPU_OWNER;
		struct channel_slot *slot;

		if (!owner || owner > runtime.config.slot_count)
			continue;
		slot = runtime_slot_at((uint32_t)owner - 1);
		__atomic_store_n(&slot->psb_next, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&runtime_thread_of(slot)->limit, 0, __ATOMIC_SEQ_CST);
		__atomic_store_n(&slot->pt_limit, 0, __ATOMIC_SEQ_CST);
	}
}

/* Returns the number of turns on all CPUs so far. */
static uint64_t turns(void)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < runtime.config.cpu_count; i++)
		sum += __atomic_load_n(&runtime.header->cpus[i].owner, __ATOMIC_RELAXED) / CHANNEL_CPU_TURN;
	return sum;
}

static bool wait_for_cpu(struct channel_slot *slot)
{
	uint64_t before = turns();
	const struct timespec timeout = {0, TRY_NS};
	uint32_t *freed = &runtime.header->cpus_freed;

	__atomic_add_fetch(&runtime.header->cpus_wanted, 1, __ATOMIC_SEQ_CST);
	for (unsigned tries = 0; !slot->cpu && !runtime_recorder_gone(); tries++) {
		const uint32_t seen = __atomic_load_n(freed, __ATOMIC_SEQ_CST);
		const uint64_t now = turns();

		tries = now == before ? tries : 0;
		before = now;

		if (!try_cpus(slot, tries < TRIES_MAX ? runtime.config.cpu_count : CHANNEL_CPUS_MAX) &&
		    RUNTIME_CALL(SYS_futex, freed, FUTEX_WAIT, seen, &timeout, 0, 0) == -ETIMEDOUT)
			call_owners();
	}
	__atomic_sub_fetch(&runtime.header->cpus_wanted, 1, __ATOMIC_SEQ_CST);
	return slot->cpu != 0;
}

static void send_turn(struct runtime_thread *thread, bool begins)
{
	const struct channel_slot *slot = thread->slot;
	struct channel_message_cpu message = {
		.header.type = CHANNEL_MSG_CPU,
		.cpu = slot->cpu - 1,
		.begins = begins,
		.turn = __atomic_load_n(&runtime.header->cpus[slot->cpu - 1].owner, __ATOMIC_RELAXED) /
			CHANNEL_CPU_TURN,
	};

	runtime_send(thread, &message.header, sizeof(message), NULL, 0);
}

void runtime_cpu_take(struct runtime_thread *thread)
{
	struct channel_slot *slot = thread->slot;
	uint64_t last;

	if (!runtime.config.cpu_count || slot->cpu || thread->is_dummy)
		return;
	if (!try_cpus(slot, runtime.config.cpu_count) && !wait_for_cpu(slot))
		return;
	/* Times on a CPU never decrease. */
	last = __atomic_load_n(&runtime.header->cpus[slot->cpu - 1].time, __ATOMIC_ACQUIRE);
	if (runtime.config.clock == PTL_CLOCK_VIRTUAL && runtime_encoder_now(slot, &runtime.config) < last)
		slot->virtual_offset = last - slot->instructions;
	send_turn(thread, true);
	/* The thread's packets follow packets of another thread: a PSB must come first. */
	slot->epoch = 0;
}

void runtime_cpu_give(struct runtime_thread *thread)
{
	struct channel_slot *slot = thread->slot;
	struct channel_cpu *cpu;

	if (!slot->cpu)
		return;
	cpu = &runtime.header->cpus[slot->cpu - 1];
	/* At the time of the turn's last PSB, a switch could be sorted before the packets behind the PSB. */
	if (runtime_encoder_now(slot, &runtime.config) == slot->time)
		slot->time++;
	send_turn(thread, false);
	__atomic_store_n(&cpu->time, runtime_encoder_now(slot, &runtime.config) + 1, __ATOMIC_RELEASE);
	slot->cpu = 0;
	__atomic_and_fetch(&cpu->owner, ~(uint64_t)CHANNEL_CPU_OWNER, __ATOMIC_ACQ_REL);
	__atomic_add_fetch(&runtime.header->cpus_freed, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&runtime.header->cpus_wanted, __ATOMIC_SEQ_CST))
		RUNTIME_CALL(SYS_futex, &runtime.header->cpus_freed, FUTEX_WAKE, 1, 0, 0, 0);
}

bool runtime_cpu_is_wanted(const struct runtime_thread *thread)
{
	const struct channel_slot *slot = thread->slot;

	return slot->cpu && __atomic_load_n(&runtime.header->cpus_wanted, __ATOMIC_RELAXED);
}

void runtime_cpu_yield(struct runtime_thread *thread)
{
	struct channel_slot *slot = thread->slot;
	const struct timespec time = {0, YIELD_NS};
	const uint64_t *owner = &runtime.header->cpus[slot->cpu - 1].owner;
	const uint64_t turn = __atomic_load_n(owner, __ATOMIC_RELAXED) / CHANNEL_CPU_TURN;

	runtime_cpu_give(thread);
	/* A waiting thread needs a moment to wake. */
	for (unsigned i = 0; i < YIELDS_MAX && __atomic_load_n(owner, __ATOMIC_RELAXED) / CHANNEL_CPU_TURN == turn; i++)
		RUNTIME_CALL(SYS_nanosleep, &time, 0);
	runtime_cpu_take(thread);
}
