/* SPDX-License-Identifier: BSD-2-Clause */
/* The recorder's end of the channel to traced processes: drains slots, and completes streams of dead threads. */

#ifndef RECORD_CHANNEL_CHANNEL_H
#define RECORD_CHANNEL_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/channel/shared/channel.h"

/* An arena in the recorder. */
struct channel {
	struct channel_config config; /* the recorder's own copy; all geometry comes from this copy */
	struct channel_header *header;
	uint8_t *base;
	uint64_t size;
	int fd;
};

/*
 * Makes and maps an arena. Checks config, and fills in config->arena_path.
 * The descriptor is close-on-exec, and stays open until channel_destroy(). Producers run on without the recorder when
 * the calling thread ends. A process has only one arena at a time.
 * Returns 0 or a negative errno (-EINVAL: a value out of range).
 */
int channel_create(struct channel *channel, const struct channel_config *config);

/* Asks producers to stop, and frees the arena. */
void channel_destroy(struct channel *channel);

/* Returns the slot `index`, which is less than config.slot_count. */
struct channel_slot *channel_slot(const struct channel *channel, uint32_t index);

/* Returns the index behind all claimed slots; at most config.slot_count, whatever the header says. */
uint32_t channel_slot_high(const struct channel *channel);

/*
 * Sets *bytes to the oldest contiguous bytes of the PT ring, and returns their number; 0 if the ring is empty.
 * slot->pt_tail is the position of the first byte. The number never exceeds the ring's size, whatever the slot says.
 * channel_consume_pt() frees n bytes, and wakes a waiting producer. Until then the bytes stay valid.
 */
size_t channel_read_pt(const struct channel *channel, struct channel_slot *slot, const uint8_t **bytes);
void channel_consume_pt(const struct channel *channel, struct channel_slot *slot, size_t n);

/*
 * Copies the oldest message into buffer (CHANNEL_MESSAGE_MAX bytes, aligned to 8) and consumes the message.
 * Returns the size of the message: at least the type's struct plus the bytes counted by length fields. Messages of
 * unknown types are checked as struct channel_message only.
 * Returns 0 without a message; -EPROTO if the ring is damaged. A damaged ring is emptied.
 */
int channel_read_message(const struct channel *channel, struct channel_slot *slot, void *buffer);

/* Checks whether unread messages wait. */
bool channel_has_messages(const struct channel_slot *slot);

/* Returns the number of bytes in both rings. */
uint64_t channel_pending(const struct channel *channel, const struct channel_slot *slot);

/* Answers the slot's request, and wakes the thread. */
void channel_reply(struct channel_slot *slot, uint32_t request, uint32_t value);

/*
 * Sleeps until a producer rings the doorbell, or until the timeout.
 * seen: header->doorbell, read by the caller before its last look at the rings, so that no ring is missed.
 */
void channel_wait(struct channel *channel, uint32_t seen, unsigned milliseconds);

/*
 * Completes the PT stream of a dead thread with the bytes in the slack. The slot is LIVE, and the caller has checked
 * that the thread or its process is gone. The last TNT bits were in registers and are lost.
 * Returns 0: the slot is ENDED, and the last bytes are readable. -EAGAIN: the caller has to consume PT first. -EPROTO:
 * the slot is damaged, and nothing was written.
 */
int channel_finish(const struct channel *channel, struct channel_slot *slot);

/*
 * Takes a virtual CPU from the slot of a dead thread. time: end of the thread's turn. Returns the number of the turn; 0
 * if the thread did not have the CPU.
 */
uint64_t channel_free_cpu(const struct channel *channel, uint32_t slot, uint32_t cpu, uint64_t time);

/* Frees a drained, ENDED slot for the next thread. */
void channel_free_slot(const struct channel *channel, struct channel_slot *slot);

/*
 * Asks all producers to stop tracing. Each producer completes its stream at its next PSB or system call; until then the
 * recorder drains. The programs run on.
 */
void channel_stop(struct channel *channel);

#endif
