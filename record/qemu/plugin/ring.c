/* SPDX-License-Identifier: BSD-2-Clause */
/* The way to the recorder: messages, waiting for room, noticing that nobody listens. */

#include <linux/futex.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "record/qemu/plugin/encoder.h"
#include "record/qemu/plugin/plugin.h"

/* How long a thread sleeps before it looks whether the recorder is still there. */
#define LIVENESS_NS 100000000l
/* How often it does so when the recorder has said to stop but takes nothing any more. */
#define STOPPING_WAITS_MAX 50
/* How long the recorder may take to look at an image's file. */
#define REPLY_SECONDS 30

static void futex_wait(uint32_t *word, uint32_t value)
{
	struct timespec timeout = {0, LIVENESS_NS};

	syscall(SYS_futex, word, FUTEX_WAIT, value, &timeout, NULL, 0);
}

void plugin_ring_doorbell(void)
{
	__atomic_add_fetch(&plugin.header->doorbell, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&plugin.header->recorder_waiting, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &plugin.header->doorbell, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static bool recorder_is_dead(void)
{
	return !(__atomic_load_n(&plugin.header->recorder, __ATOMIC_RELAXED) & FUTEX_TID_MASK);
}

bool plugin_recorder_gone(void)
{
	return __atomic_load_n(&plugin.stopped, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&plugin.header->stop, __ATOMIC_RELAXED) || recorder_is_dead();
}

void plugin_stop(void)
{
	__atomic_store_n(&plugin.stopped, true, __ATOMIC_RELEASE);
	plugin_thread_call_all();
}

/*
 * A recorder that has said to stop still takes what is in the rings, unless it has come to be
 * stuck; a dead one takes nothing.
 */
static bool wait_for_consumer(struct qemu_slot *slot, bool (*has_room)(const struct qemu_slot *, uint64_t),
			      uint64_t needed)
{
	for (unsigned waits = 0; !has_room(slot, needed); waits++) {
		bool stopping = __atomic_load_n(&plugin.header->stop, __ATOMIC_RELAXED);

		if (recorder_is_dead() || (stopping && waits > STOPPING_WAITS_MAX)) {
			plugin_stop();
			return false;
		}

		uint32_t seen = __atomic_load_n(&slot->room, __ATOMIC_SEQ_CST);

		__atomic_store_n(&slot->producer_waiting, 1, __ATOMIC_SEQ_CST);
		plugin_ring_doorbell();
		if (!has_room(slot, needed))
			futex_wait(&slot->room, seen);
		__atomic_store_n(&slot->producer_waiting, 0, __ATOMIC_SEQ_CST);
	}
	return true;
}

static bool has_step_room(const struct qemu_slot *slot, uint64_t words)
{
	if (plugin.config.truth && slot->truth_head + words - __atomic_load_n(&slot->truth_tail, __ATOMIC_ACQUIRE) >
					   plugin.config.truth_ring_size / 4)
		return false;
	return plugin_encoder_has_room(slot, &plugin.config);
}

bool plugin_wait_for_room(struct qemu_slot *slot, uint64_t words)
{
	return wait_for_consumer(slot, has_step_room, words);
}

static bool has_message_room(const struct qemu_slot *slot, uint64_t bytes)
{
	return slot->message_head + bytes - __atomic_load_n(&slot->message_tail, __ATOMIC_ACQUIRE) <=
	       plugin.config.message_ring_size;
}

static void copy_in(struct qemu_slot *slot, uint64_t position, const void *bytes, size_t size)
{
	uint8_t *ring = plugin_slot_message_ring(slot);
	uint64_t offset = position & (plugin.config.message_ring_size - 1);
	uint64_t first = plugin.config.message_ring_size - offset;

	if (first > size)
		first = size;
	memcpy(ring + offset, bytes, first);
	memcpy(ring, (const uint8_t *)bytes + first, size - first);
}

bool plugin_send(struct qemu_slot *slot, struct qemu_message *message, size_t size, const void *tail, size_t tail_size)
{
	size_t whole = size + tail_size;
	size_t padded = (whole + 7) & ~(size_t)7;

	if (__atomic_load_n(&plugin.stopped, __ATOMIC_RELAXED))
		return false;
	if (!wait_for_consumer(slot, has_message_room, padded))
		return false;
	message->size = (uint32_t)whole;
	message->pid = plugin.pid;
	message->tid = slot->tid;
	message->process = plugin.process;
	if (!message->pt_offset)
		message->pt_offset = slot->pt_head;
	if (!message->time)
		message->time = plugin_encoder_now(slot, &plugin.config);
	message->sequence = __atomic_add_fetch(&plugin.header->sequence, 1, __ATOMIC_RELAXED);
	copy_in(slot, slot->message_head, message, size);
	if (tail_size)
		copy_in(slot, slot->message_head + size, tail, tail_size);

	uint64_t head = slot->message_head + padded;

	__atomic_store_n(&slot->message_head, head, __ATOMIC_RELEASE);
	if (head - __atomic_load_n(&slot->message_tail, __ATOMIC_RELAXED) > plugin.config.message_ring_size / 2)
		plugin_ring_doorbell();
	return true;
}

uint32_t plugin_request(struct qemu_slot *slot, struct qemu_message *message, size_t size, const void *tail,
			size_t tail_size)
{
	uint32_t number = slot->request + 1 ? slot->request + 1 : 1;
	struct timespec now, start;

	message->request = number;
	slot->request = number;
	if (!plugin_send(slot, message, size, tail, tail_size))
		return 0;
	plugin_ring_doorbell();
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (;;) {
		uint32_t reply = __atomic_load_n(&slot->reply, __ATOMIC_ACQUIRE);

		if (reply == number)
			return __atomic_load_n(&slot->reply_value, __ATOMIC_RELAXED);
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec - start.tv_sec > REPLY_SECONDS || plugin_recorder_gone())
			return 0;
		futex_wait(&slot->reply, reply);
	}
}

void plugin_note(struct qemu_slot *slot, uint32_t severity, const char *format, ...)
{
	struct qemu_message_note note = {.header.type = QEMU_MSG_NOTE, .severity = severity};
	char text[512];
	va_list arguments;

	va_start(arguments, format);

	int length = vsnprintf(text, sizeof(text), format, arguments);

	va_end(arguments);
	if (length < 0)
		return;
	if ((size_t)length >= sizeof(text)) {
		length = sizeof(text) - 1;
		note.header.flags = QEMU_MESSAGE_TRUNCATED;
	}
	note.length = (uint32_t)length;
	plugin_send(slot, &note.header, sizeof(note), text, (size_t)length);
}
