/* SPDX-License-Identifier: BSD-2-Clause */
/* The recorder's end of the QEMU channel: draining slots, completing the streams of the dead. */

#ifndef RECORD_QEMU_CHANNEL_H
#define RECORD_QEMU_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/qemu/shared/channel.h"

/* One arena as the recorder holds it. */
struct qemu_channel {
	struct qemu_channel_config config; /* the recorder's own copy: geometry is taken from here alone */
	struct qemu_channel_header *header;
	uint8_t *base;
	uint64_t size;
	int fd;
};

/*
 * Makes and maps an arena. Of `config` the field arena_path is filled in here; the rest is the caller's and is checked. The
 * descriptor is close-on-exec and stays open until qemu_channel_destroy(). When the calling thread ends, producers run on
 * without the recorder; a process has one arena at a time. Returns 0 or a negative errno (-EINVAL: a value out of its stated
 * range).
 */
int qemu_channel_create(struct qemu_channel *channel, const struct qemu_channel_config *config);

/* Unmaps and closes. Asks producers to stop first. */
void qemu_channel_destroy(struct qemu_channel *channel);

/* Slot `index` < config.slot_count. */
struct qemu_slot *qemu_channel_slot(const struct qemu_channel *channel, uint32_t index);

/* Slots from this index on were never claimed; at most config.slot_count whatever the header says.
 */
uint32_t qemu_channel_slot_high(const struct qemu_channel *channel);

/*
 * The oldest bytes in the PT ring that have not been consumed and lie in one piece: stores their
 * address and returns their number, 0 if there are none. Stream position of the first:
 * slot->pt_tail. Never more than the ring holds, whatever the slot says. Bytes stay valid until
 * consumed. qemu_channel_consume_pt() frees n of them and wakes the producer if it waits.
 */
size_t qemu_channel_read_pt(const struct qemu_channel *channel, struct qemu_slot *slot, const uint8_t **bytes);
void qemu_channel_consume_pt(const struct qemu_channel *channel, struct qemu_slot *slot, size_t n);

/* The same for the truth ring; n counts 32-bit words. */
size_t qemu_channel_read_truth(const struct qemu_channel *channel, struct qemu_slot *slot, const uint32_t **words);
void qemu_channel_consume_truth(const struct qemu_channel *channel, struct qemu_slot *slot, size_t n);

/*
 * Copies the oldest message into buffer (QEMU_MESSAGE_MAX bytes, aligned to 8) and consumes it.
 * Returns its size; 0 if there is none; -EPROTO if the ring holds no message: its content was
 * damaged, all of it is then discarded. The size is at least that of the type's struct plus the
 * bytes its length fields state; types that are not known are returned as they are, checked as
 * struct qemu_message only.
 */
int qemu_channel_read_message(const struct qemu_channel *channel, struct qemu_slot *slot, void *buffer);

/* Whether messages wait that have not been read. */
bool qemu_channel_has_messages(const struct qemu_slot *slot);

/* Bytes waiting in all three rings. */
uint64_t qemu_channel_pending(const struct qemu_channel *channel, const struct qemu_slot *slot);

/* Answers the slot's request and wakes the thread. */
void qemu_channel_reply(struct qemu_slot *slot, uint32_t request, uint32_t value);

/*
 * Sleeps until a producer rings the doorbell or the time has passed. `seen` is the value of
 * header->doorbell the caller read before it last looked at the rings, so that no ring is missed.
 */
void qemu_channel_wait(struct qemu_channel *channel, uint32_t seen, unsigned milliseconds);

/*
 * For a slot in state LIVE whose thread is dead (the caller has made sure: the process is gone, or
 * the thread is): completes its PT stream and truth: copies what lay in the slack, flushes pending
 * TNT bits, and, if packets were enabled, writes FUP at the start of the block it was last seen to
 * enter and TIP.PGD: of that block nothing is taken to have been executed. (A thread that dies of
 * its own fault, or of a signal QEMU sees, has completed its stream itself, exactly.) Needs room in
 * the rings: consume all of PT and truth first; returns -EAGAIN if there is not enough, 0 when
 * done, and the slot is then ENDED with its last bytes to be read. -EPROTO: the state is damaged,
 * nothing was written.
 */
int qemu_channel_finish(const struct qemu_channel *channel, struct qemu_slot *slot);

/*
 * Takes a virtual CPU from a slot whose thread is dead, which had it until this time: the number of the turn; 0: it had
 * not this CPU.
 */
uint64_t qemu_channel_free_cpu(const struct qemu_channel *channel, uint32_t slot, uint32_t cpu, uint64_t time);

/* Makes a drained, ENDED slot free for the next thread. */
void qemu_channel_free_slot(const struct qemu_channel *channel, struct qemu_slot *slot);

/*
 * Asks all producers to stop tracing. Each completes its stream at its next PSB or system call;
 * until then there are bytes to be drained. Their programs run on.
 */
void qemu_channel_stop(struct qemu_channel *channel);

#endif
