/* SPDX-License-Identifier: BSD-2-Clause */
/* Slots for threads: claimed at the first block, kept by execve, given again by fork. */

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "record/qemu/plugin/encoder.h"
#include "record/qemu/plugin/plugin.h"

#define SLOT_WAIT_NS 100000l
/* Some seconds. */
#define SLOT_WAITS_MAX 20000u

struct plugin_process plugin = {.lock = PTHREAD_MUTEX_INITIALIZER, .continue_slot = -1};
struct qemu_slot *plugin_slots[PLUGIN_VCPU_MAX];
struct plugin_block plugin_disabled = {
	.key = PLUGIN_NO_KEY,
	.not_taken = PLUGIN_NOWHERE,
	.taken = PLUGIN_NOWHERE,
	.kind = QEMU_BLOCK_SYSCALL,
};
/* These are never written by the fast path, which gives up at once. */
struct qemu_slot plugin_unattached = {.block = (uint64_t)&plugin_disabled};
struct qemu_slot plugin_untraced = {.block = (uint64_t)&plugin_disabled};
struct qemu_slot plugin_attention = {.block = (uint64_t)&plugin_disabled};
_Thread_local struct qemu_slot *plugin_thread_slot;
_Thread_local unsigned plugin_thread_vcpu;
static _Thread_local bool thread_is_untraced; /* found no slot, and does not look for one again */

static struct qemu_slot *slot_at(uint32_t index)
{
	return (struct qemu_slot *)(void *)(plugin.arena + qemu_channel_slot_offset(&plugin.config, index));
}

uint8_t *plugin_slot_pt_ring(struct qemu_slot *slot)
{
	return (uint8_t *)slot + qemu_slot_pt_ring(&plugin.config);
}

uint8_t *plugin_slot_message_ring(struct qemu_slot *slot)
{
	return (uint8_t *)slot + qemu_slot_message_ring();
}

uint32_t *plugin_slot_truth_ring(struct qemu_slot *slot)
{
	return (uint32_t *)(void *)((uint8_t *)slot + qemu_slot_truth_ring(&plugin.config));
}

uint32_t plugin_slot_index(const struct qemu_slot *slot)
{
	return (uint32_t)(((uint64_t)slot - (uint64_t)plugin.arena - QEMU_CHANNEL_HEADER_SIZE) /
			  qemu_channel_slot_size(&plugin.config));
}

static void raise_slot_high(uint32_t high)
{
	uint32_t old = __atomic_load_n(&plugin.header->slot_high, __ATOMIC_RELAXED);

	while (old < high && !__atomic_compare_exchange_n(&plugin.header->slot_high, &old, high, false,
							  __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
}

static bool claim_at(uint32_t index)
{
	struct qemu_slot *slot = slot_at(index);
	uint32_t expected = QEMU_SLOT_FREE;

	if (!__atomic_compare_exchange_n(&slot->status, &expected, QEMU_SLOT_CLAIMED, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return false;
	slot->claimant_pid = (uint32_t)getpid();
	raise_slot_high(index + 1);
	__atomic_add_fetch(&plugin.header->slots_claimed, 1, __ATOMIC_RELAXED);
	return true;
}

/*
 * Looks among the slots in use first, so that the recorder has few to look at. *ended: one is, or will be, free, of a thread that
 * has ended.
 */
static struct qemu_slot *find_slot(bool *ended)
{
	*ended = false;
	for (uint32_t i = 0; i < plugin.config.slot_count; i++) {
		uint32_t status;

		if (claim_at(i))
			return slot_at(i);
		status = __atomic_load_n(&slot_at(i)->status, __ATOMIC_RELAXED);
		/* The recorder may have made it free since. */
		*ended |= status == QEMU_SLOT_ENDED || status == QEMU_SLOT_FREE;
	}
	return NULL;
}

/* Slots of threads that have ended become free when the recorder has taken what they have; those of others do not. */
static struct qemu_slot *claim_slot(void)
{
	const struct timespec interval = {0, SLOT_WAIT_NS};

	for (unsigned waits = 0; waits < SLOT_WAITS_MAX && !plugin_recorder_gone(); waits++) {
		bool ended;
		struct qemu_slot *slot = find_slot(&ended);

		if (slot)
			return slot;
		if (!ended)
			break;
		plugin_ring_doorbell();
		nanosleep(&interval, NULL);
	}
	__atomic_add_fetch(&plugin.header->untraced_threads, 1, __ATOMIC_RELAXED);
	return NULL;
}

void plugin_thread_ids(uint32_t *pid, uint32_t *tid)
{
	char text[64];
	const ssize_t length = readlink("/proc/thread-self", text, sizeof(text) - 1);

	text[length > 0 ? length : 0] = 0;
	if (sscanf(text, "%u/task/%u", pid, tid) == 2)
		return;
	*pid = (uint32_t)getpid();
	*tid = (uint32_t)syscall(SYS_gettid);
}

static void set_identity(struct qemu_slot *slot)
{
	uint32_t pid;

	plugin_thread_ids(&pid, &slot->tid);
	slot->pid = plugin.pid;
	slot->process = plugin.process;
}

/* A claimed slot becomes live: an empty stream, its clock at `time`. */
static void start_slot(struct qemu_slot *slot, uint64_t time)
{
	slot->generation++;
	slot->pt_tail = slot->message_tail = slot->truth_tail = 0;
	slot->message_head = 0;
	slot->producer_waiting = 0;
	slot->request = slot->reply;
	slot->cpu = 0;
	set_identity(slot);
	plugin_encoder_start(slot, &plugin.config, plugin_slot_pt_ring(slot));
	slot->block = (uint64_t)&plugin_disabled;
	slot->virtual_offset = time;
	slot->time = plugin.config.clock == PTL_CLOCK_VIRTUAL ? time : 0;
	__atomic_store_n(&slot->status, QEMU_SLOT_LIVE, __ATOMIC_RELEASE);
}

void plugin_thread_call_all(void)
{
	uint32_t high = __atomic_load_n(&plugin.vcpu_high, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < high; i++)
		if (plugin_slots[i] != &plugin_untraced && plugin_slots[i] != &plugin_unattached)
			__atomic_store_n(&plugin_slots[i], &plugin_attention, __ATOMIC_RELEASE);
}

static void send_thread_start(struct qemu_slot *slot, uint32_t creator)
{
	struct qemu_message_thread_start message = {.header.type = QEMU_MSG_THREAD_START, .parent_tid = creator};

	plugin_send(slot, &message.header, sizeof(message), NULL, 0);
}

/* After execve in the process's first thread: the same stream goes on with a new PSB. */
static struct qemu_slot *continue_slot(void)
{
	if (plugin.continue_slot < 0 || plugin.continue_slot >= plugin.config.slot_count)
		return NULL;

	struct qemu_slot *slot = slot_at((uint32_t)plugin.continue_slot);
	uint32_t pid, tid;

	plugin_thread_ids(&pid, &tid);
	if (slot->status != QEMU_SLOT_LIVE || slot->pid != plugin.pid || slot->tid != tid)
		return NULL;
	slot->pt_bias = (uint64_t)plugin_slot_pt_ring(slot) - slot->pt_lap;
	slot->block = (uint64_t)&plugin_disabled;
	slot->truth_block = 0;
	slot->epoch = 0; /* so that a PSB is due */
	slot->cpu = 0;
	return slot;
}

struct qemu_slot *plugin_thread_claim(void)
{
	struct qemu_slot *slot = plugin_thread_slot;

	if (slot || thread_is_untraced || plugin_recorder_gone())
		return slot;
	if (!plugin.started)
		slot = continue_slot();
	if (!slot) {
		slot = claim_slot();
		thread_is_untraced = !slot;
		if (!slot)
			return NULL;
		start_slot(slot, plugin.started ? 0 : plugin.continue_time);
	}
	plugin_thread_slot = slot;
	return slot;
}

struct qemu_slot *plugin_thread_attach(unsigned vcpu, uint64_t env)
{
	struct qemu_slot *slot = vcpu < PLUGIN_VCPU_MAX ? plugin_thread_claim() : NULL;

	if (vcpu >= PLUGIN_VCPU_MAX)
		return NULL;
	plugin_fork_born(vcpu);
	plugin.vcpus[vcpu].env = (const uint8_t *)env;
	plugin.vcpus[vcpu].slot = slot ? slot : &plugin_untraced;
	plugin_slots[vcpu] = plugin.vcpus[vcpu].slot;
	if (!slot)
		return NULL;
	plugin_thread_vcpu = vcpu;
	if (plugin.started && slot->pt_head == 0) {
		if (plugin.config.clock == PTL_CLOCK_VIRTUAL && slot->time < plugin.vcpus[vcpu].birth_time) {
			slot->virtual_offset = plugin.vcpus[vcpu].birth_time;
			slot->time = slot->virtual_offset;
		}
		send_thread_start(slot, plugin.vcpus[vcpu].creator_tid);
	}
	return slot;
}

void plugin_thread_end(unsigned vcpu)
{
	struct qemu_slot *slot = plugin.vcpus[vcpu].slot;

	plugin_cpu_give(slot);
	plugin.vcpus[vcpu].slot = &plugin_untraced;
	plugin_slots[vcpu] = &plugin_untraced;
	plugin_thread_slot = NULL;
	__atomic_store_n(&slot->status, QEMU_SLOT_ENDED, __ATOMIC_RELEASE);
	plugin_ring_doorbell();
}

/* ---- fork ----------------------------------------------------------------------------------- */

static void before_fork(void)
{
	pthread_mutex_lock(&plugin.lock);
}

static void after_fork_in_parent(void)
{
	pthread_mutex_unlock(&plugin.lock);
}

/* The child is the calling thread alone. It leaves the parent's slots to the parent and takes one
 * of its own. */
static void after_fork_in_child(void)
{
	struct qemu_slot *old = plugin_thread_slot;
	uint32_t tid;
	struct qemu_message_process_start message = {
		.header.type = QEMU_MSG_PROCESS_START,
		.how = QEMU_PROCESS_FORK,
		.parent_pid = plugin.pid,
		.parent_process = plugin.process,
		.epoch = plugin.epoch,
		.parent_epoch = plugin.epoch,
	};

	pthread_mutex_init(&plugin.lock, NULL);
	plugin_fork_child();
	plugin_thread_slot = NULL;
	plugin_thread_ids(&plugin.pid, &tid);
	if (!old)
		return;
	message.parent_tid = old->tid;
	plugin.process = __atomic_add_fetch(&plugin.header->next_process, 1, __ATOMIC_RELAXED);

	struct qemu_slot *slot = plugin_recorder_gone() ? NULL : claim_slot();

	for (uint32_t i = 0; i < plugin.vcpu_high; i++) {
		if (plugin.vcpus[i].slot == old)
			plugin.vcpus[i].slot = slot ? slot : &plugin_untraced;
		else
			plugin.vcpus[i].slot = &plugin_unattached;
		plugin_slots[i] = plugin.vcpus[i].slot;
	}
	if (!slot)
		return;
	start_slot(slot, plugin_encoder_now(old, &plugin.config));
	plugin_thread_slot = slot;
	/*
	 * The recorder must know whose definitions the child's truth begins with before it meets
	 * another thread of the child, whose slot it may look at first.
	 */
	if (plugin.config.truth)
		plugin_request(slot, &message.header, sizeof(message), NULL, 0);
	else
		plugin_send(slot, &message.header, sizeof(message), NULL, 0);
}

int plugin_thread_watch_fork(void)
{
	return pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}
