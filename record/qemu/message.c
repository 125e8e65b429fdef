/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the recorder does at once with a message: answers, PSB index, truth; all else waits for its
 * turn.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "common/program/message.h"
#include "record/capture/notes.h"
#include "record/qemu/source.h"

#define NOTES_MAX 20   /* of the plugin's that are shown */
#define FIRST_BLOCK 1u /* a program numbers its blocks from here */

/* ---- images ---------------------------------------------------------------------------------- */

static int look_at_image(struct record_qemu *qemu, const struct qemu_message_image *message,
			 struct ptl_image_event *image)
{
	const struct record_mapping mapping = {
		.pid = message->header.pid,
		.base = message->base,
		.size = message->size,
		.file_offset = message->file_offset,
		.device = message->device,
		.inode = message->inode,
		.protection = message->protection,
		.anonymous = (message->flags & (QEMU_IMAGE_ANONYMOUS | QEMU_IMAGE_VDSO)) != 0,
		.deleted = (message->flags & QEMU_IMAGE_DELETED) != 0,
		.path = (const char *)(message + 1),
		.path_length = message->path_length,
	};

	return record_image_store_add(qemu->capture->images, &mapping, image);
}

static uint32_t answer_of(const struct record_qemu *qemu, const struct ptl_image_event *image)
{
	if (qemu->capture->settings->embed == ELF_EMBED_NONE)
		return QEMU_IMAGE_REPLY_DO_NOT_SEND;
	return image->has_code ? QEMU_IMAGE_REPLY_HAVE : QEMU_IMAGE_REPLY_NONE;
}

/* ---- PSBs ------------------------------------------------------------------------------------ */

/* The bytes may have been taken before: they and the message are read at different times. */
static int announce_psb(struct record_qemu *qemu, struct record_qemu_slot *state, const struct qemu_message *message)
{
	const uint64_t limit = state->taken + qemu->channel.config.pt_ring_size + QEMU_PT_SLACK;
	unsigned at;
	int status = 0;

	/*
	 * The trace's index has them in order and apart; none can be further ahead than the ring
	 * has bytes.
	 */
	if (message->pt_offset < state->psb_next || message->pt_offset > limit)
		return 0;
	state->psb_next = message->pt_offset + 16;
	if (qemu->channel.config.cpu_count)
		return record_qemu_note_psb(state, message);
	if (state->psb_count == RECORD_QEMU_PSBS) {
		const struct record_qemu_psb *oldest = &state->psbs[state->psb_first];

		status = record_capture_psb(qemu->capture, state->stream, oldest->position, oldest->time);
		state->psb_first = (state->psb_first + 1) % RECORD_QEMU_PSBS;
		state->psb_count--;
	}
	at = (state->psb_first + state->psb_count) % RECORD_QEMU_PSBS;
	state->psbs[at] = (struct record_qemu_psb){message->pt_offset, message->time};
	state->psb_count++;
	return status;
}

/* ---- truth ----------------------------------------------------------------------------------- */

/* From message on, the process runs a program whose definitions begin with those of parent. */
static int begin_program(struct record_qemu *qemu, struct record_qemu_slot *state, struct record_qemu_process *process,
			 const struct qemu_message *message, uint32_t parent)
{
	int status = record_truth_program(qemu->capture->truth, state->pid, &process->definitions);

	if (status == 0)
		status = record_qemu_order_program(&qemu->order, message->sequence, state->process,
						   process->definitions, parent);
	return status < 0 ? status
			  : record_capture_truth_thread(qemu->capture, process->definitions, state->pid, state->tid,
							&state->truth_stream);
}

/*
 * A program's first block: its thread waits for an answer of ours before it executes it, so all
 * words that are in the ring by now were written by the program before.
 */
static int truth_block(struct record_qemu *qemu, struct record_qemu_slot *state, struct qemu_slot *slot,
		       struct record_qemu_process *process, const struct qemu_message_block *message)
{
	bool work;
	int status;

	if (message->number != FIRST_BLOCK)
		return 0;
	status = record_qemu_finish_process(qemu, state->process, state);
	if (status == 0)
		status = record_qemu_drain_truth(qemu, state, slot, &work);
	if (status == 0)
		status = begin_program(qemu, state, process, &message->header, 0);
	if (message->header.request)
		qemu_channel_reply(slot, message->header.request, 1);
	return status;
}

/* A child of fork waits for the answer, so that none of its threads is met before its definitions are there. */
static int truth_fork(struct record_qemu *qemu, struct record_qemu_slot *state, struct qemu_slot *slot,
		      struct record_qemu_process *process, const struct qemu_message_process_start *message)
{
	int status = 0;

	if (message->how == QEMU_PROCESS_FORK && !process->definitions)
		status = begin_program(qemu, state, process, &message->header, message->parent_process);
	if (message->header.request)
		qemu_channel_reply(slot, message->header.request, 1);
	return status;
}

static int take_truth(struct record_qemu *qemu, struct record_qemu_slot *state, struct qemu_slot *slot,
		      struct record_qemu_process *process, const struct qemu_message *message)
{
	int status = 0;

	if (!qemu->capture->truth)
		return 0;
	if (message->type == QEMU_MSG_BLOCK)
		status = truth_block(qemu, state, slot, process, (const void *)message);
	else if (message->type == QEMU_MSG_PROCESS_START)
		status = truth_fork(qemu, state, slot, process, (const void *)message);
	return status == PTL_SYSTEM ? 0 : status;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Says it, and puts it into the trace. */
static int take_note(struct record_qemu *qemu, const struct qemu_message_note *message)
{
	const int length = message->length < 1024 ? (int)message->length : 1024;
	char text[1025];
	const struct record_note note = {
		.time = message->header.time,
		.pid = message->header.pid,
		.tid = message->header.tid,
		.warning = message->severity != 0,
		.text = text,
	};

	if (qemu->notes++ >= NOTES_MAX)
		return 0;
	snprintf(text, sizeof(text), "%.*s", length, (const char *)(message + 1));
	if (message->severity)
		common_message_warning("process %u: %s", message->header.pid, text);
	else
		common_message_note("process %u: %s", message->header.pid, text);
	return record_note(qemu->capture, &note);
}

static int take_message(struct record_qemu *qemu, struct record_qemu_slot *state, struct qemu_slot *slot,
			struct qemu_message *message)
{
	struct record_qemu_process *process = record_qemu_find(qemu, state->process);
	struct ptl_image_event image;
	bool has_image = false;
	int status = 0;

	/* Who speaks is known from the slot. */
	message->process = state->process;
	message->pid = state->pid;
	message->tid = state->tid;
	if (message->time > state->time)
		state->time = message->time;
	if (process && message->sequence > process->sequence)
		process->sequence = message->sequence;
	switch (message->type) {
	case QEMU_MSG_PSB:
		status = announce_psb(qemu, state, message);
		break;
	case QEMU_MSG_CPU:
		status = record_qemu_note_turn(qemu, state, (const void *)message);
		break;
	case QEMU_MSG_IMAGE_MAP:
		status = look_at_image(qemu, (const void *)message, &image);
		has_image = status == 0;
		if (has_image && message->request)
			qemu_channel_reply(slot, message->request, answer_of(qemu, &image));
		break;
	case QEMU_MSG_EXEC:
		status = record_qemu_finish_process(qemu, state->process, state);
		break;
	case QEMU_MSG_NOTE:
		status = take_note(qemu, (const void *)message);
		break;
	default:
		break;
	}
	if (status == 0 && process)
		status = take_truth(qemu, state, slot, process, message);
	return status < 0 ? status
			  : record_qemu_order_message(&qemu->order, message, has_image ? &image : NULL,
						      process ? process->definitions : 0);
}

int record_qemu_messages(struct record_qemu *qemu, struct record_qemu_slot *state, struct qemu_slot *slot, bool *work)
{
	/*
	 * One ring full and no more, so that a program that floods its ring does not keep the
	 * others waiting.
	 */
	uint64_t budget = qemu->channel.config.message_ring_size;
	/* On the stack: to take a message may mean to take those of other slots first. */
	_Alignas(8) uint8_t buffer[QEMU_MESSAGE_MAX];
	struct qemu_message *message = (void *)buffer;
	int status = 0;

	while (status == 0 && budget) {
		const int size = qemu_channel_read_message(&qemu->channel, slot, message);
		const struct ptl_loss loss = {
			.kind = PTL_LOSS_EVENTS,
			.stream = state->stream,
			.pid = state->pid,
			.tid = state->tid,
			.count = 1,
			.first_time = state->time,
			.cause = "the program overwrote messages in the memory it shares with the "
				 "recorder",
		};

		if (!size)
			break;
		*work = true;
		if (size < 0) {
			status = record_capture_loss(qemu->capture, &loss);
			break;
		}
		budget -= (uint64_t)size < budget ? (uint64_t)size : budget;
		status = take_message(qemu, state, slot, message);
	}
	return status;
}
