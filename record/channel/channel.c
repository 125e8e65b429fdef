/* SPDX-License-Identifier: BSD-2-Clause */
/* The recorder's end of the channel to traced processes: makes the arena and drains slots. */

#include "record/channel/channel.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RING_MIN 65536u
#define RING_MAX (1ull << 30)

/* ---- the arena ------------------------------------------------------------------------------ */

static bool is_ring_size(uint64_t size)
{
	return size >= RING_MIN && size <= RING_MAX && (size & (size - 1)) == 0;
}

static bool is_valid(const struct channel_config *config)
{
	return config->slot_count >= 1 && config->slot_count <= 65536 && config->timing <= PTL_TIMING_CYC &&
	       (config->clock == PTL_CLOCK_MONOTONIC || config->clock == PTL_CLOCK_VIRTUAL) &&
	       config->return_compression <= 1 && config->mtc_shift <= 15 && config->psb_period >= 64 &&
	       config->cpu_count <= CHANNEL_CPUS_MAX && is_ring_size(config->pt_ring_size) &&
	       is_ring_size(config->message_ring_size);
}

/*
 * A robust list with one futex, which lies in the arena. The kernel reads the list at the end of this thread. The list
 * lies outside of the arena: traced programs can write to the arena. The list replaces libc's list of robust mutexes,
 * of which the recorder has none.
 */
static struct {
	struct robust_list_head ours, *before;
	struct robust_list node;
} held;

static void hold_futex(uint32_t *futex)
{
	size_t size;

	if (syscall(SYS_get_robust_list, 0, &held.before, &size))
		held.before = NULL;
	held.node.next = &held.ours.list;
	held.ours = (struct robust_list_head){
		.list.next = &held.node,
		.futex_offset = (long)((uintptr_t)futex - (uintptr_t)&held.node),
	};
	__atomic_store_n(futex, (uint32_t)gettid(), __ATOMIC_RELEASE);
	syscall(SYS_set_robust_list, &held.ours, sizeof(held.ours));
}

static void let_go(uint32_t *futex)
{
	syscall(SYS_set_robust_list, held.before, sizeof(*held.before));
	__atomic_store_n(futex, 0, __ATOMIC_RELEASE);
}

int channel_create(struct channel *channel, const struct channel_config *config)
{
	int status;

	if (!is_valid(config))
		return -EINVAL;
	*channel = (struct channel){.config = *config, .fd = -1};
	channel->size = channel_arena_size(config);
	channel->fd = memfd_create("ptl-arena", MFD_CLOEXEC);
	if (channel->fd < 0)
		return -errno;
	if (ftruncate(channel->fd, (off_t)channel->size))
		goto fail;
	channel->base = mmap(NULL, (size_t)channel->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
			     channel->fd, 0);
	if (channel->base == MAP_FAILED)
		goto fail;
	snprintf(channel->config.arena_path, sizeof(channel->config.arena_path), "/proc/%d/fd/%d", (int)getpid(),
		 channel->fd);
	channel->header = (struct channel_header *)(void *)channel->base;
	channel->header->magic = CHANNEL_MAGIC;
	channel->header->version = CHANNEL_VERSION;
	channel->header->config = channel->config;
	hold_futex(&channel->header->recorder);
	return 0;
fail:
	status = -errno;
	close(channel->fd);
	*channel = (struct channel){.fd = -1};
	return status;
}

void channel_destroy(struct channel *channel)
{
	if (!channel->base)
		return;
	channel_stop(channel);
	let_go(&channel->header->recorder);
	munmap(channel->base, (size_t)channel->size);
	close(channel->fd);
	*channel = (struct channel){.fd = -1};
}

struct channel_slot *channel_slot(const struct channel *channel, uint32_t index)
{
	return (struct channel_slot *)(void *)(channel->base + channel_slot_offset(&channel->config, index));
}

uint32_t channel_slot_high(const struct channel *channel)
{
	uint32_t high = __atomic_load_n(&channel->header->slot_high, __ATOMIC_ACQUIRE);

	return high < channel->config.slot_count ? high : channel->config.slot_count;
}

void channel_stop(struct channel *channel)
{
	__atomic_store_n(&channel->header->stop, 1, __ATOMIC_SEQ_CST);
}

/* ---- draining ------------------------------------------------------------------------------- */

static void wake(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static void give_room(struct channel_slot *slot)
{
	__atomic_add_fetch(&slot->room, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&slot->producer_waiting, __ATOMIC_SEQ_CST))
		wake(&slot->room);
}

/*
 * Returns the contiguous bytes of the PT stream from position `tail` on. Bytes written past the ring's end are read at
 * the ring's start, after the producer has copied them there.
 */
size_t channel_read_pt(const struct channel *channel, struct channel_slot *slot, const uint8_t **bytes)
{
	uint64_t size = channel->config.pt_ring_size;
	uint64_t tail = slot->pt_tail;
	uint64_t head = __atomic_load_n(&slot->pt_head, __ATOMIC_ACQUIRE);
	uint64_t end = __atomic_load_n(&slot->pt_lap, __ATOMIC_ACQUIRE) + size;
	uint64_t offset = tail & (size - 1);
	uint64_t count;

	if (head > end)
		head = end;
	if (head <= tail)
		return 0;
	count = head - tail;
	if (count > size - offset)
		count = size - offset;
	*bytes = (const uint8_t *)slot + channel_slot_pt_ring(&channel->config) + offset;
	return (size_t)count;
}

void channel_consume_pt(const struct channel *channel, struct channel_slot *slot, size_t n)
{
	(void)channel;
	__atomic_store_n(&slot->pt_tail, slot->pt_tail + n, __ATOMIC_RELEASE);
	give_room(slot);
}

static void copy_out(const struct channel *channel, const struct channel_slot *slot, uint64_t position, void *out,
		     size_t size)
{
	const uint8_t *ring = (const uint8_t *)slot + channel_slot_message_ring();
	uint64_t offset = position & (channel->config.message_ring_size - 1);
	uint64_t first = channel->config.message_ring_size - offset;

	if (first > size)
		first = size;
	memcpy(out, ring + offset, first);
	memcpy((uint8_t *)out + first, ring, size - first);
}

/*
 * Layout of a message type: size of the fixed part, offset of the field that counts further bytes, and the field's
 * unit.
 */
struct layout {
	uint32_t fixed;
	uint32_t length_at;
	uint32_t unit;
};

#define FIXED(type)                                                                                                    \
	{                                                                                                              \
		sizeof(struct channel_message_##type), 0, 0                                                            \
	}
#define TAILED(type, field, unit)                                                                                      \
	{                                                                                                              \
		sizeof(struct channel_message_##type), offsetof(struct channel_message_##type, field), unit            \
	}

static const struct layout layouts[] = {
	[CHANNEL_MSG_PROCESS_START] = FIXED(process_start),
	[CHANNEL_MSG_EXEC] = FIXED(exec),
	[CHANNEL_MSG_EXEC_BYTES] = TAILED(exec_bytes, length, 1),
	[CHANNEL_MSG_EXIT] = FIXED(exit),
	[CHANNEL_MSG_THREAD_START] = FIXED(thread_start),
	[CHANNEL_MSG_THREAD_END] = FIXED(thread_end),
	[CHANNEL_MSG_CHILD_STATUS] = FIXED(child_status),
	[CHANNEL_MSG_IMAGE_MAP] = TAILED(image, path_length, 1),
	[CHANNEL_MSG_IMAGE_UNMAP] = FIXED(unmap),
	[CHANNEL_MSG_IMAGE_PROTECT] = FIXED(protect),
	[CHANNEL_MSG_CODE] = TAILED(code, length, 1),
	[CHANNEL_MSG_PSB] = FIXED(psb),
	[CHANNEL_MSG_NOT_FOLLOWED] = TAILED(not_followed, length, 1),
	[CHANNEL_MSG_EXEC_FAILED] = {sizeof(struct channel_message), 0, 0},
	[CHANNEL_MSG_NOTE] = TAILED(note, length, 1),
	[CHANNEL_MSG_THREAD_NAME] = TAILED(thread_name, length, 1),
	[CHANNEL_MSG_CPU] = FIXED(cpu),
	[CHANNEL_MSG_SIGNAL] = FIXED(signal),
	[CHANNEL_MSG_VALUES] = TAILED(values, length, 1),
};

static bool is_well_formed(const struct channel_message *message)
{
	const struct layout *layout;
	uint32_t length = 0;

	if (message->type >= sizeof(layouts) / sizeof(layouts[0]) || !layouts[message->type].fixed)
		return true;
	layout = &layouts[message->type];
	if (message->size < layout->fixed)
		return false;
	if (layout->unit)
		memcpy(&length, (const uint8_t *)message + layout->length_at, sizeof(length));
	return message->size == layout->fixed + (uint64_t)length * layout->unit;
}

/* Drops the invalid content of the message ring. */
static int discard(struct channel_slot *slot, uint64_t head)
{
	__atomic_store_n(&slot->message_tail, head, __ATOMIC_RELEASE);
	give_room(slot);
	return -EPROTO;
}

int channel_read_message(const struct channel *channel, struct channel_slot *slot, void *buffer)
{
	struct channel_message *message = buffer;
	uint64_t head = __atomic_load_n(&slot->message_head, __ATOMIC_ACQUIRE);
	uint64_t tail = slot->message_tail;
	uint32_t size;

	if (head == tail)
		return 0;
	if (head < tail || head - tail > channel->config.message_ring_size || tail % 8 ||
	    head - tail < sizeof(*message))
		return discard(slot, head);
	copy_out(channel, slot, tail, message, sizeof(*message));
	size = message->size;
	if (size < sizeof(*message) || size > CHANNEL_MESSAGE_MAX || ((uint64_t)size + 7) / 8 * 8 > head - tail)
		return discard(slot, head);
	copy_out(channel, slot, tail + sizeof(*message), message + 1, size - sizeof(*message));
	if (!is_well_formed(message))
		return discard(slot, head);
	__atomic_store_n(&slot->message_tail, tail + ((uint64_t)size + 7) / 8 * 8, __ATOMIC_RELEASE);
	give_room(slot);
	return (int)size;
}

bool channel_has_messages(const struct channel_slot *slot)
{
	return __atomic_load_n(&slot->message_head, __ATOMIC_ACQUIRE) != slot->message_tail;
}

uint64_t channel_pending(const struct channel *channel, const struct channel_slot *slot)
{
	(void)channel;
	return __atomic_load_n(&slot->pt_head, __ATOMIC_RELAXED) - slot->pt_tail +
	       __atomic_load_n(&slot->message_head, __ATOMIC_RELAXED) - slot->message_tail;
}

void channel_reply(struct channel_slot *slot, uint32_t request, uint32_t value)
{
	__atomic_store_n(&slot->reply_value, value, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->reply, request, __ATOMIC_RELEASE);
	wake(&slot->reply);
}

void channel_wait(struct channel *channel, uint32_t seen, unsigned milliseconds)
{
	struct timespec timeout = {milliseconds / 1000, milliseconds % 1000 * 1000000l};

	__atomic_store_n(&channel->header->recorder_waiting, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &channel->header->doorbell, FUTEX_WAIT, seen, &timeout, NULL, 0);
	__atomic_store_n(&channel->header->recorder_waiting, 0, __ATOMIC_SEQ_CST);
}

uint64_t channel_free_cpu(const struct channel *channel, uint32_t slot, uint32_t cpu, uint64_t time)
{
	struct channel_header *header = channel->header;
	uint64_t owner = __atomic_load_n(&header->cpus[cpu].owner, __ATOMIC_ACQUIRE);

	if ((owner & CHANNEL_CPU_OWNER) != slot + 1)
		return 0;
	if (time > __atomic_load_n(&header->cpus[cpu].time, __ATOMIC_RELAXED))
		__atomic_store_n(&header->cpus[cpu].time, time, __ATOMIC_RELEASE);
	__atomic_compare_exchange_n(&header->cpus[cpu].owner, &owner, owner & ~(uint64_t)CHANNEL_CPU_OWNER, false,
				    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	__atomic_add_fetch(&header->cpus_freed, 1, __ATOMIC_SEQ_CST);
	wake(&header->cpus_freed);
	return owner / CHANNEL_CPU_TURN;
}

void channel_free_slot(const struct channel *channel, struct channel_slot *slot)
{
	(void)channel;
	slot->process = 0;
	slot->newborn = 0;
	__atomic_store_n(&slot->status, CHANNEL_SLOT_FREE, __ATOMIC_RELEASE);
}
