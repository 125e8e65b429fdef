/* SPDX-License-Identifier: BSD-2-Clause */
/* Slots for threads: claimed at the first block, kept by execve, given anew by fork. */

#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/qemu/plugin/encoder.h"
#include "record/qemu/plugin/plugin.h"

struct pq_plugin pq = {.lock = PTHREAD_MUTEX_INITIALIZER, .continue_slot = -1};
struct ptl_slot *pq_slots[PQ_VCPU_MAX];
struct pq_block pq_disabled = {
	.key = PQ_NO_KEY,
	.not_taken = PQ_NOWHERE,
	.taken = PQ_NOWHERE,
	.kind = PTL_BLOCK_SYSCALL,
};
/* These are never written by the fast path, which gives up at once. */
struct ptl_slot pq_unattached = {.block = (uint64_t)&pq_disabled};
struct ptl_slot pq_untraced = {.block = (uint64_t)&pq_disabled};
struct ptl_slot pq_attention = {.block = (uint64_t)&pq_disabled};
_Thread_local struct ptl_slot *pq_thread_slot;
_Thread_local unsigned pq_thread_vcpu;
static _Thread_local bool thread_is_untraced; /* found no slot, and does not look for one again */

static struct ptl_slot *slot_at(uint32_t index)
{
	return (struct ptl_slot *)(void *)(pq.arena + ptl_channel_slot_offset(&pq.config, index));
}

uint8_t *pq_slot_pt_ring(struct ptl_slot *slot)
{
	return (uint8_t *)slot + ptl_slot_pt_ring(&pq.config);
}

uint8_t *pq_slot_message_ring(struct ptl_slot *slot)
{
	return (uint8_t *)slot + ptl_slot_message_ring();
}

uint32_t *pq_slot_truth_ring(struct ptl_slot *slot)
{
	return (uint32_t *)(void *)((uint8_t *)slot + ptl_slot_truth_ring(&pq.config));
}

uint32_t pq_slot_index(const struct ptl_slot *slot)
{
	return (uint32_t)(((uint64_t)slot - (uint64_t)pq.arena - PTL_CHANNEL_HEADER_SIZE) /
			  ptl_channel_slot_size(&pq.config));
}

static void raise_slot_high(uint32_t high)
{
	uint32_t old = __atomic_load_n(&pq.header->slot_high, __ATOMIC_RELAXED);

	while (old < high && !__atomic_compare_exchange_n(&pq.header->slot_high, &old, high, false,
							  __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
}

static bool claim_at(uint32_t index)
{
	struct ptl_slot *slot = slot_at(index);
	uint32_t expected = PTL_SLOT_FREE;

	if (!__atomic_compare_exchange_n(&slot->status, &expected, PTL_SLOT_CLAIMED, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return false;
	slot->claimant_pid = (uint32_t)getpid();
	raise_slot_high(index + 1);
	__atomic_add_fetch(&pq.header->slots_claimed, 1, __ATOMIC_RELAXED);
	return true;
}

/* Looks among the slots in use first, so that the recorder has few to look at. */
static struct ptl_slot *claim_slot(void)
{
	for (uint32_t i = 0; i < pq.config.slot_count; i++)
		if (claim_at(i))
			return slot_at(i);
	__atomic_add_fetch(&pq.header->untraced_threads, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void set_identity(struct ptl_slot *slot)
{
	slot->pid = pq.pid;
	slot->tid = (uint32_t)syscall(SYS_gettid);
	slot->process = pq.process;
}

/* A claimed slot becomes live: an empty stream, its clock at `time`. */
static void start_slot(struct ptl_slot *slot, uint64_t time)
{
	slot->generation++;
	slot->pt_tail = slot->message_tail = slot->truth_tail = 0;
	slot->message_head = 0;
	slot->producer_waiting = 0;
	slot->request = slot->reply;
	set_identity(slot);
	pq_encoder_start(slot, &pq.config, pq_slot_pt_ring(slot));
	slot->block = (uint64_t)&pq_disabled;
	slot->virtual_offset = time;
	slot->time = pq.config.clock == PTL_CLOCK_VIRTUAL ? time : 0;
	__atomic_store_n(&slot->status, PTL_SLOT_LIVE, __ATOMIC_RELEASE);
}

void pq_thread_call_all(void)
{
	uint32_t high = __atomic_load_n(&pq.vcpu_high, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < high; i++)
		if (pq_slots[i] != &pq_untraced && pq_slots[i] != &pq_unattached)
			__atomic_store_n(&pq_slots[i], &pq_attention, __ATOMIC_RELEASE);
}

static void send_thread_start(struct ptl_slot *slot, uint32_t creator)
{
	struct ptl_message_thread_start message = {.header.type = PTL_MSG_THREAD_START,
						   .parent_tid = creator};

	pq_send(slot, &message.header, sizeof(message), NULL, 0);
}

/* After execve in the process's first thread: the same stream goes on with a new PSB. */
static struct ptl_slot *continue_slot(void)
{
	if (pq.continue_slot < 0 || pq.continue_slot >= pq.config.slot_count)
		return NULL;

	struct ptl_slot *slot = slot_at((uint32_t)pq.continue_slot);

	if (slot->status != PTL_SLOT_LIVE || slot->pid != pq.pid ||
	    slot->tid != (uint32_t)syscall(SYS_gettid))
		return NULL;
	slot->pt_bias = (uint64_t)pq_slot_pt_ring(slot) - slot->pt_lap;
	slot->block = (uint64_t)&pq_disabled;
	slot->truth_block = 0;
	slot->epoch = 0; /* so that a PSB is due */
	return slot;
}

struct ptl_slot *pq_thread_claim(void)
{
	struct ptl_slot *slot = pq_thread_slot;

	if (slot || thread_is_untraced || pq_recorder_gone())
		return slot;
	if (!pq.started)
		slot = continue_slot();
	if (!slot) {
		slot = claim_slot();
		thread_is_untraced = !slot;
		if (!slot)
			return NULL;
		start_slot(slot, pq.started ? 0 : pq.continue_time);
	}
	pq_thread_slot = slot;
	return slot;
}

struct ptl_slot *pq_thread_attach(unsigned vcpu, uint64_t env)
{
	struct ptl_slot *slot = vcpu < PQ_VCPU_MAX ? pq_thread_claim() : NULL;

	if (vcpu >= PQ_VCPU_MAX)
		return NULL;
	pq.vcpus[vcpu].env = (const uint8_t *)env;
	pq.vcpus[vcpu].slot = slot ? slot : &pq_untraced;
	pq_slots[vcpu] = pq.vcpus[vcpu].slot;
	if (!slot)
		return NULL;
	pq_thread_vcpu = vcpu;
	if (pq.started && slot->pt_head == 0) {
		if (pq.config.clock == PTL_CLOCK_VIRTUAL &&
		    slot->time < pq.vcpus[vcpu].birth_time) {
			slot->virtual_offset = pq.vcpus[vcpu].birth_time;
			slot->time = slot->virtual_offset;
		}
		send_thread_start(slot, pq.vcpus[vcpu].creator_tid);
	}
	return slot;
}

void pq_thread_end(unsigned vcpu)
{
	struct ptl_slot *slot = pq.vcpus[vcpu].slot;

	pq.vcpus[vcpu].slot = &pq_untraced;
	pq_slots[vcpu] = &pq_untraced;
	pq_thread_slot = NULL;
	__atomic_store_n(&slot->status, PTL_SLOT_ENDED, __ATOMIC_RELEASE);
	pq_ring_doorbell();
}

/* ---- fork ----------------------------------------------------------------------------------- */

static void before_fork(void)
{
	pthread_mutex_lock(&pq.lock);
}

static void after_fork_in_parent(void)
{
	pthread_mutex_unlock(&pq.lock);
}

/* The child is the calling thread alone. It leaves the parent's slots to the parent and takes one
 * of its own. */
static void after_fork_in_child(void)
{
	struct ptl_slot *old = pq_thread_slot;
	struct ptl_message_process_start message = {
		.header.type = PTL_MSG_PROCESS_START,
		.how = PTL_PROCESS_FORK,
		.parent_pid = pq.pid,
		.parent_process = pq.process,
		.epoch = pq.epoch,
		.parent_epoch = pq.epoch,
	};

	pthread_mutex_init(&pq.lock, NULL);
	pq_thread_slot = NULL;
	pq.pid = (uint32_t)getpid();
	if (!old)
		return;
	message.parent_tid = old->tid;
	pq.process = __atomic_add_fetch(&pq.header->next_process, 1, __ATOMIC_RELAXED);

	struct ptl_slot *slot = pq_recorder_gone() ? NULL : claim_slot();

	for (uint32_t i = 0; i < pq.vcpu_high; i++) {
		if (pq.vcpus[i].slot == old)
			pq.vcpus[i].slot = slot ? slot : &pq_untraced;
		else
			pq.vcpus[i].slot = &pq_unattached;
		pq_slots[i] = pq.vcpus[i].slot;
	}
	if (!slot)
		return;
	start_slot(slot, pq_encoder_now(old, &pq.config));
	pq_thread_slot = slot;
	pq_send(slot, &message.header, sizeof(message), NULL, 0);
}

int pq_thread_watch_fork(void)
{
	return pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}
