/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Virtual CPUs: a thread executes only while it has one, so that the packets of a CPU are of one thread at a time. It gives
 * its CPU up with each system call, when others wait at a PSB, and when it ends.
 */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "record/qemu/plugin/encoder.h"
#include "record/qemu/plugin/plugin.h"

#define TRY_NS 10000000l
/*
 * Who has a CPU may wait for a thread that waits for one, in QEMU itself: when no CPU has changed hands for so long, more
 * are used than were asked for.
 */
#define TRIES_MAX 100u
#define YIELDS_MAX 20u
#define YIELD_NS 50000l

static bool try_cpu(struct qemu_slot *slot, uint32_t cpu)
{
	uint64_t *word = &plugin.header->cpus[cpu].owner;
	uint64_t old = __atomic_load_n(word, __ATOMIC_ACQUIRE);

	if (old & QEMU_CPU_OWNER)
		return false;
	/* Its number and its owner change at once, so that a thread that is killed leaves no doubt. */
	if (!__atomic_compare_exchange_n(word, &old, old + QEMU_CPU_TURN + plugin_slot_index(slot) + 1, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return false;
	slot->cpu = cpu + 1;
	return true;
}

static bool try_cpus(struct qemu_slot *slot, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (try_cpu(slot, i))
			return true;
	return false;
}

/* Turns on all CPUs so far. */
static uint64_t turns(void)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < plugin.config.cpu_count; i++)
		sum += __atomic_load_n(&plugin.header->cpus[i].owner, __ATOMIC_RELAXED) / QEMU_CPU_TURN;
	return sum;
}

static bool wait_for_cpu(struct qemu_slot *slot)
{
	uint64_t before = turns();
	const struct timespec timeout = {0, TRY_NS};
	uint32_t *freed = &plugin.header->cpus_freed;

	__atomic_add_fetch(&plugin.header->cpus_wanted, 1, __ATOMIC_SEQ_CST);
	for (unsigned tries = 0; !slot->cpu && !plugin_recorder_gone(); tries++) {
		const uint32_t seen = __atomic_load_n(freed, __ATOMIC_SEQ_CST);
		const uint64_t now = turns();

		tries = now == before ? tries : 0;
		before = now;

		if (!try_cpus(slot, tries < TRIES_MAX ? plugin.config.cpu_count : QEMU_CPUS_MAX))
			syscall(SYS_futex, freed, FUTEX_WAIT, seen, &timeout, NULL, 0);
	}
	__atomic_sub_fetch(&plugin.header->cpus_wanted, 1, __ATOMIC_SEQ_CST);
	return slot->cpu != 0;
}

static void send_turn(struct qemu_slot *slot, bool begins)
{
	struct qemu_message_cpu message = {
		.header.type = QEMU_MSG_CPU,
		.cpu = slot->cpu - 1,
		.begins = begins,
		.turn = __atomic_load_n(&plugin.header->cpus[slot->cpu - 1].owner, __ATOMIC_RELAXED) / QEMU_CPU_TURN,
	};

	plugin_send(slot, &message.header, sizeof(message), NULL, 0);
}

void plugin_cpu_take(struct qemu_slot *slot)
{
	uint64_t last;

	if (!plugin.config.cpu_count || slot->cpu)
		return;
	if (!try_cpus(slot, plugin.config.cpu_count) && !wait_for_cpu(slot))
		return;
	/* Nothing on a CPU is earlier than what was there before. */
	last = __atomic_load_n(&plugin.header->cpus[slot->cpu - 1].time, __ATOMIC_ACQUIRE);
	if (plugin.config.clock == PTL_CLOCK_VIRTUAL && plugin_encoder_now(slot, &plugin.config) < last)
		slot->virtual_offset = last - slot->instructions;
	send_turn(slot, true);
	/* What follows is decoded behind another thread's packets: it begins with a PSB. */
	slot->epoch = 0;
}

void plugin_cpu_give(struct qemu_slot *slot)
{
	struct qemu_cpu *cpu;

	if (!slot->cpu)
		return;
	cpu = &plugin.header->cpus[slot->cpu - 1];
	send_turn(slot, false);
	__atomic_store_n(&cpu->time, plugin_encoder_now(slot, &plugin.config) + 1, __ATOMIC_RELEASE);
	slot->cpu = 0;
	__atomic_and_fetch(&cpu->owner, ~(uint64_t)QEMU_CPU_OWNER, __ATOMIC_ACQ_REL);
	__atomic_add_fetch(&plugin.header->cpus_freed, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&plugin.header->cpus_wanted, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &plugin.header->cpus_freed, FUTEX_WAKE, 1, NULL, NULL, 0);
}

bool plugin_cpu_is_wanted(const struct qemu_slot *slot)
{
	return slot->cpu && __atomic_load_n(&plugin.header->cpus_wanted, __ATOMIC_RELAXED);
}

void plugin_cpu_yield(struct qemu_slot *slot)
{
	const struct timespec time = {0, YIELD_NS};
	const uint64_t *owner = &plugin.header->cpus[slot->cpu - 1].owner;
	const uint64_t turn = __atomic_load_n(owner, __ATOMIC_RELAXED) / QEMU_CPU_TURN;

	plugin_cpu_give(slot);
	/* Who waits needs a moment to wake. */
	for (unsigned i = 0; i < YIELDS_MAX && __atomic_load_n(owner, __ATOMIC_RELAXED) / QEMU_CPU_TURN == turn; i++)
		nanosleep(&time, NULL);
	plugin_cpu_take(slot);
}
