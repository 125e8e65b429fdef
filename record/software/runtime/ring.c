/* SPDX-License-Identifier: BSD-2-Clause */
/* Communication with the recorder: messages, waiting for room, detecting the recorder's death. */

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include <sys/mman.h>

#include "record/software/runtime/encoder.h"
#include "record/software/runtime/runtime.h"

/* time a thread sleeps between checks of the recorder */
#define LIVENESS_NS 100000000l
/* number of such sleeps after which a stopping recorder counts as stuck */
#define STOPPING_WAITS_MAX 50
/* time limit for the recorder to read an image's file */
#define REPLY_SECONDS 30

/* Returns whether LIVENESS_NS have passed. */
static bool futex_wait(uint32_t *word, uint32_t value)
{
	struct timespec timeout = {0, LIVENESS_NS};

	return RUNTIME_CALL(SYS_futex, word, FUTEX_WAIT, value, &timeout, 0, 0) == -ETIMEDOUT;
}

void runtime_ring_doorbell(void)
{
	__atomic_add_fetch(&runtime.header->doorbell, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&runtime.header->recorder_waiting, __ATOMIC_SEQ_CST))
		RUNTIME_CALL(SYS_futex, &runtime.header->doorbell, FUTEX_WAKE, 1, 0, 0, 0);
}

static bool recorder_is_dead(void)
{
	return !(__atomic_load_n(&runtime.header->recorder, __ATOMIC_RELAXED) & FUTEX_TID_MASK);
}

bool runtime_recorder_gone(void)
{
	return __atomic_load_n(&runtime.stopped, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&runtime.header->stop, __ATOMIC_RELAXED) || recorder_is_dead();
}

void runtime_stop(void)
{
	__atomic_store_n(&runtime.stopped, true, __ATOMIC_RELEASE);
	runtime_thread_call_all();
}

/*
 * Waits for room. A recorder that has announced the stop still drains the rings, unless it is stuck; a dead recorder
 * does not.
 */
static bool wait_for_consumer(struct channel_slot *slot, bool (*has_room)(const struct channel_slot *, uint64_t),
			      uint64_t needed)
{
	/* Drains of other slots wake the thread, too. So the waiting time counts, not the number of wake-ups. */
	for (unsigned waits = 0; !has_room(slot, needed);) {
		bool stopping = __atomic_load_n(&runtime.header->stop, __ATOMIC_RELAXED);

		if (recorder_is_dead() || (stopping && waits > STOPPING_WAITS_MAX)) {
			runtime_stop();
			return false;
		}

		uint32_t seen = __atomic_load_n(&slot->room, __ATOMIC_SEQ_CST);

		__atomic_store_n(&slot->producer_waiting, 1, __ATOMIC_SEQ_CST);
		runtime_ring_doorbell();
		if (!has_room(slot, needed))
			waits += futex_wait(&slot->room, seen);
		__atomic_store_n(&slot->producer_waiting, 0, __ATOMIC_SEQ_CST);
	}
	return true;
}

static bool has_step_room(const struct channel_slot *slot, uint64_t words)
{
	(void)words;
	return runtime_encoder_has_room(slot, &runtime.config);
}

bool runtime_wait_for_room(struct runtime_thread *thread)
{
	return wait_for_consumer(thread->slot, has_step_room, 0);
}

static bool has_message_room(const struct channel_slot *slot, uint64_t bytes)
{
	return slot->message_head + bytes - __atomic_load_n(&slot->message_tail, __ATOMIC_ACQUIRE) <=
	       runtime.config.message_ring_size;
}

static void copy_in(struct channel_slot *slot, uint64_t position, const void *bytes, size_t size)
{
	uint8_t *ring = (uint8_t *)slot + channel_slot_message_ring();
	uint64_t offset = position & (runtime.config.message_ring_size - 1);
	uint64_t first = runtime.config.message_ring_size - offset;

	if (first > size)
		first = size;
	memcpy(ring + offset, bytes, first);
	memcpy(ring, (const uint8_t *)bytes + first, size - first);
}

bool runtime_send(struct runtime_thread *thread, struct channel_message *message, size_t size, const void *tail,
		  size_t tail_size)
{
	struct channel_slot *slot = thread->slot;
	size_t whole = size + tail_size;
	size_t padded = (whole + 7) & ~(size_t)7;

	if (thread->is_dummy || __atomic_load_n(&runtime.stopped, __ATOMIC_RELAXED))
		return false;
	if (!wait_for_consumer(slot, has_message_room, padded))
		return false;
	message->size = (uint32_t)whole;
	message->pid = thread->pid;
	message->tid = thread->tid;
	message->process = thread->process;
	if (!message->pt_offset)
		message->pt_offset = slot->pt_head;
	if (!message->time)
		message->time = runtime_encoder_now(slot, &runtime.config);
	if (message->type != CHANNEL_MSG_VALUES)
		message->sequence = __atomic_add_fetch(&runtime.header->sequence, 1, __ATOMIC_RELAXED);
	copy_in(slot, slot->message_head, message, size);
	if (tail_size)
		copy_in(slot, slot->message_head + size, tail, tail_size);

	uint64_t head = slot->message_head + padded;

	__atomic_store_n(&slot->message_head, head, __ATOMIC_RELEASE);
	if (head - __atomic_load_n(&slot->message_tail, __ATOMIC_RELAXED) > runtime.config.message_ring_size / 2)
		runtime_ring_doorbell();
	return true;
}

uint32_t runtime_request(struct runtime_thread *thread, struct channel_message *message, size_t size, const void *tail,
			 size_t tail_size)
{
	struct channel_slot *slot = thread->slot;
	uint32_t number = slot->request + 1 ? slot->request + 1 : 1;
	uint64_t start;

	message->request = number;
	slot->request = number;
	if (!runtime_send(thread, message, size, tail, tail_size))
		return 0;
	runtime_ring_doorbell();
	start = runtime_monotonic();
	for (;;) {
		uint32_t reply = __atomic_load_n(&slot->reply, __ATOMIC_ACQUIRE);

		if (reply == number)
			return __atomic_load_n(&slot->reply_value, __ATOMIC_RELAXED);
		if (runtime_monotonic() - start > REPLY_SECONDS * 1000000000ull || runtime_recorder_gone())
			return 0;
		futex_wait(&slot->reply, reply);
	}
}

void runtime_note(struct runtime_thread *thread, const char *text, uint64_t number)
{
	runtime_say(thread, 1, text, number);
}

void runtime_say(struct runtime_thread *thread, uint32_t severity, const char *text, uint64_t number)
{
	struct channel_message_note note = {.header.type = CHANNEL_MSG_NOTE, .severity = severity};
	char line[512];
	size_t at = 0;

	runtime_put(line, sizeof(line), &at, text);
	if (number) {
		runtime_put(line, sizeof(line), &at, " 0x");
		runtime_put_number(line, sizeof(line), &at, number, 16);
	}
	note.length = (uint32_t)at;
	runtime_send(thread, &note.header, sizeof(note), line, at);
}
