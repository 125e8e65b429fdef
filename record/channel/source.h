/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder's end of the software source: traced processes, slots of their threads, and draining both into a
 * capture.
 */
#ifndef RECORD_CHANNEL_SOURCE_H
#define RECORD_CHANNEL_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hash_map.h"
#include "record/capture/capture.h"
#include "record/channel/channel.h"
#include "record/channel/cpus.h"
#include "record/channel/order.h"

/* An announced PSB whose bytes have not arrived. */
struct record_channel_psb {
	uint64_t position;
	uint64_t time;
};

/* A position in a thread's packets: beginning or end of a turn on a virtual CPU, or end of a PSB. */
struct record_channel_mark {
	uint64_t position;
	uint64_t time;
	bool is_psb;
	struct record_channel_turn *turn; /* beginning turn; NULL: the previous turn ends */
};

#define RECORD_CHANNEL_PSBS 64u /* maximum number of announced PSBs; the runtime announces only a few ahead */

/* A slot in the recorder. Values that the traced program could change are not read again from the slot. */
struct record_channel_slot {
	bool live;    /* belongs to a thread */
	bool damaged; /* the content was invalid, and is ignored */
	uint32_t process;
	uint32_t pid;
	uint32_t tid;
	uint32_t stream;   /* stream of PT */
	uint64_t taken;    /* PT bytes received so far, equal to the position in stream and slot */
	uint64_t psb_next; /* lowest valid position of the next PSB */
	uint64_t time;     /* time of the latest message */
	struct record_channel_psb psbs[RECORD_CHANNEL_PSBS];
	unsigned psb_first;
	unsigned psb_count;
	/* With virtual CPUs only: */
	struct record_channel_mark *marks; /* marks behind `taken`, in order */
	size_t mark_count, mark_capacity;
	struct record_channel_turn *turn; /* turn of the next packets; NULL without a turn */
	uint64_t turn_start;              /* position of the turn's first packet */
};

/* A process that has sent data. */
struct record_channel_process {
	uint32_t number;
	uint32_t pid;
	uint32_t slots; /* number of live slots */
	int pidfd;      /* becomes readable at the process's death; -1 if unavailable */
	bool dead;
	uint64_t sequence; /* sequence number of the latest message */
};

struct record_channel {
	struct record_capture *capture;
	struct channel channel;
	struct record_channel_order order;
	struct record_channel_cpus cpus;
	struct record_channel_slot *slots; /* array of channel.config.slot_count entries */
	/* struct record_channel_process * by number, until the process is dead and drained */
	struct common_hash_map processes;
	int epoll; /* epoll descriptor of all pidfds */
	uint64_t processes_seen;
	uint64_t threads_damaged;
	/* Called for each image before the program goes on. Optional. */
	void (*on_image)(void *context, struct channel_header *header, const struct channel_message_image *message);
	/* Called for each message of values; PTL_NO_MEMORY. Optional. */
	int (*on_values)(void *context, const struct channel_message_values *message);
	void *context;  /* context of on_image and on_values */
	unsigned notes; /* number of printed runtime notes */
};

/* Fails with PTL_SYSTEM or PTL_NO_MEMORY. A failed open leaves nothing to close. */
int record_channel_open(struct record_channel *channel, struct record_capture *capture,
			const struct channel_config *config);
void record_channel_close(struct record_channel *channel);

/* Drains all slots. *work: set if there was data. Fails with PTL_NO_MEMORY. */
int record_channel_drain(struct record_channel *channel, bool *work);

/* Finds dead processes, completes the streams of their threads, and reports the deaths to the capture. */
int record_channel_reap(struct record_channel *channel);

/* Completes all remaining streams after the death of all traced processes. */
int record_channel_reap_all(struct record_channel *channel);

/* Checks whether slots are in use. After channel_stop(): whether threads still trace. */
bool record_channel_has_live_slots(const struct record_channel *channel);

/* Writes losses for threads and processes that the runtimes counted as untraced. */
int record_channel_count_losses(struct record_channel *channel);

/* ---- message.c -------------------------------------------------------------------------- */

/* Reads all messages of a slot. */
int record_channel_messages(struct record_channel *channel, struct record_channel_slot *state,
			    struct channel_slot *slot, bool *work);

/* ---- process.c -------------------------------------------------------------------------- */

/* Returns the process with this number, and adds a new process. NULL without memory. */
struct record_channel_process *record_channel_process(struct record_channel *channel, uint32_t number, uint32_t pid);
struct record_channel_process *record_channel_find(const struct record_channel *channel, uint32_t number);

/* Makes the slot of a child live that was killed before its first instruction. Returns false for any other slot. */
bool record_channel_adopt(struct channel_slot *slot);

/* Notes the position at which a turn on a virtual CPU begins or ends. */
int record_channel_note_turn(struct record_channel *channel, struct record_channel_slot *state,
			     const struct channel_message_cpu *message);
/* Notes the position and time of a PSB from a message. */
int record_channel_note_psb(struct record_channel_slot *state, const struct channel_message *message);

/* ---- drain.c ---------------------------------------------------------------------------- */

/* Drains one slot. */
int record_channel_drain_slot(struct record_channel *channel, uint32_t index, bool *work);
/* Drains the slot of a dead thread, completes the stream, and frees the slot. */
int record_channel_finish_slot(struct record_channel *channel, uint32_t index);
/* Finishes all threads of a process except for the slot `survivor` (NULL: no exception). */
int record_channel_finish_process(struct record_channel *channel, uint32_t process,
				  const struct record_channel_slot *survivor);

#endif
