/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The software source at work: traced processes, their threads' slots, and how both are drained
 * into a capture.
 */
#ifndef RECORD_QEMU_SOURCE_H
#define RECORD_QEMU_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hash_map.h"
#include "record/capture/capture.h"
#include "record/qemu/channel.h"
#include "record/qemu/cpus.h"
#include "record/qemu/order.h"

/* A PSB whose bytes have been announced and not yet seen. */
struct record_qemu_psb {
	uint64_t position;
	uint64_t time;
};

/* Where in a thread's packets a turn on a virtual CPU begins, or ends, or a PSB ends. */
struct record_qemu_mark {
	uint64_t position;
	uint64_t time;
	bool is_psb;
	struct record_qemu_turn *turn; /* that begins; NULL: the one before ends */
};

#define RECORD_QEMU_PSBS 64u /* announced at one time; the plugin has at most a few under way */

/*
 * A slot as the recorder knows it. What the traced program could change is not read from the slot
 * again.
 */
struct record_qemu_slot {
	bool live;    /* has a thread */
	bool damaged; /* its content made no sense: it is left alone */
	uint32_t process;
	uint32_t pid;
	uint32_t tid;
	uint32_t stream;       /* of PT */
	uint32_t truth_stream; /* 0: none yet */
	uint64_t taken;        /* PT bytes so far, which is the position in the stream and in the slot */
	uint64_t psb_next;     /* lowest position that the next PSB may have */
	uint64_t time;         /* of the latest message */
	struct record_qemu_psb psbs[RECORD_QEMU_PSBS];
	unsigned psb_first;
	unsigned psb_count;
	/* With virtual CPUs. */
	struct record_qemu_mark *marks; /* that are ahead, in order */
	size_t mark_count, mark_capacity;
	struct record_qemu_turn *turn; /* that the next packets are of; NULL: none */
	uint64_t turn_start;           /* position of its first */
};

/* A process that has sent something. */
struct record_qemu_process {
	uint32_t number;
	uint32_t pid;
	uint32_t slots; /* live ones */
	int pidfd;      /* becomes readable when the process is dead; -1: not to be had */
	bool dead;
	uint64_t sequence;    /* of its latest message */
	uint32_t definitions; /* of truth; 0: none yet */
};

struct record_qemu {
	struct record_capture *capture;
	struct qemu_channel channel;
	struct record_qemu_order order;
	struct record_qemu_cpus cpus;
	struct record_qemu_slot *slots; /* channel.config.slot_count */
	/* number -> struct record_qemu_process *, until it is dead and drained */
	struct common_hash_map processes;
	int epoll; /* of all pidfds */
	uint64_t processes_seen;
	uint64_t threads_damaged;
	unsigned notes; /* of the plugin that were shown */
};

/* PTL_SYSTEM, PTL_NO_MEMORY; nothing is left to be closed after a failure. */
int record_qemu_open(struct record_qemu *qemu, struct record_capture *capture,
		     const struct qemu_channel_config *config);
void record_qemu_close(struct record_qemu *qemu);

/* Takes what all slots hold; *work says whether there was anything. 0 or PTL_NO_MEMORY. */
int record_qemu_drain(struct record_qemu *qemu, bool *work);

/*
 * Looks which processes have died, completes the streams of their threads, and reports that to the capture.
 */
int record_qemu_reap(struct record_qemu *qemu);

/* There is no traced process any more: completes everything that is left. */
int record_qemu_reap_all(struct record_qemu *qemu);

/* Whether slots are in use; with tracing stopped, whether threads have yet to notice. */
bool record_qemu_has_live_slots(const struct record_qemu *qemu);

/* Puts what the plugin counted as not traced into the capture as losses. */
int record_qemu_count_losses(struct record_qemu *qemu);

/* ---- qemu_message.c -------------------------------------------------------------------------- */

/* Takes all messages that a slot holds. */
int record_qemu_messages(struct record_qemu *qemu, struct record_qemu_slot *state, struct qemu_slot *slot, bool *work);

/* ---- qemu_process.c -------------------------------------------------------------------------- */

/* The process with this number, made if it is new. NULL without memory. */
struct record_qemu_process *record_qemu_process(struct record_qemu *qemu, uint32_t number, uint32_t pid);
struct record_qemu_process *record_qemu_find(const struct record_qemu *qemu, uint32_t number);

/* Notes where a turn on a virtual CPU begins or ends. */
int record_qemu_note_turn(struct record_qemu *qemu, struct record_qemu_slot *state,
			  const struct qemu_message_cpu *message);
/* The same of a PSB, whose place and time are those of the message. */
int record_qemu_note_psb(struct record_qemu_slot *state, const struct qemu_message *message);

/* ---- qemu_drain.c ---------------------------------------------------------------------------- */

/* Drains one slot. */
int record_qemu_drain_slot(struct record_qemu *qemu, uint32_t index, bool *work);
/* The slot's thread is dead: drains it, completes its stream, and frees it. */
int record_qemu_finish_slot(struct record_qemu *qemu, uint32_t index);
/* The threads of a process but the one in the slot `survivor` (NULL: none) are dead. */
int record_qemu_finish_process(struct record_qemu *qemu, uint32_t process, const struct record_qemu_slot *survivor);
int record_qemu_drain_truth(struct record_qemu *qemu, struct record_qemu_slot *state, struct qemu_slot *slot,
			    bool *work);

#endif
