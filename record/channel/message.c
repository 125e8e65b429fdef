/* SPDX-License-Identifier: BSD-2-Clause */
/* Handles the urgent part of messages: replies, and the PSB index. The rest waits for the order of messages. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "common/program/message.h"
#include "record/capture/notes.h"
#include "record/channel/source.h"

#define NOTES_MAX 20 /* maximum number of runtime notes to print */

/* ---- images ---------------------------------------------------------------------------------- */

static int look_at_image(struct record_channel *channel, const struct channel_message_image *message,
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
		.anonymous = (message->flags & (CHANNEL_IMAGE_ANONYMOUS | CHANNEL_IMAGE_VDSO)) != 0,
		.of_kernel = (message->flags & CHANNEL_IMAGE_VDSO) != 0,
		.deleted = (message->flags & CHANNEL_IMAGE_DELETED) != 0,
		.path = (const char *)(message + 1),
		.path_length = message->path_length,
	};

	int status = record_image_store_add(channel->capture->images, &mapping, image);
	const uint8_t *vdso = status < 0 || !mapping.of_kernel ? NULL : record_vdso_code(image);

	if (vdso)
		status = record_capture_blob(channel->capture, PTL_BLOB_CODE, vdso, image->size, image->code);
	image->has_code = image->has_code || (vdso && status >= 0);
	return status;
}

static uint32_t answer_of(const struct record_channel *channel, const struct ptl_image_event *image)
{
	if (channel->capture->settings->embed == ELF_EMBED_NONE)
		return CHANNEL_IMAGE_REPLY_DO_NOT_SEND;
	return image->has_code ? CHANNEL_IMAGE_REPLY_HAVE : CHANNEL_IMAGE_REPLY_NONE;
}

/* ---- PSBs ------------------------------------------------------------------------------------ */

/* Adds a PSB to the index. The PSB's bytes may have been drained before the message. */
static int announce_psb(struct record_channel *channel, struct record_channel_slot *state,
			const struct channel_message *message)
{
	const uint64_t limit = state->taken + channel->channel.config.pt_ring_size + CHANNEL_PT_SLACK;
	unsigned at;
	int status = 0;

	/* PSBs of the index are ordered and apart. None is further ahead than the ring has bytes. */
	if (message->pt_offset < state->psb_next || message->pt_offset > limit)
		return 0;
	state->psb_next = message->pt_offset + 16;
	if (channel->channel.config.cpu_count)
		return record_channel_note_psb(state, message);
	if (state->psb_count == RECORD_CHANNEL_PSBS) {
		const struct record_channel_psb *oldest = &state->psbs[state->psb_first];

		status = record_capture_psb(channel->capture, state->stream, oldest->position, oldest->time);
		state->psb_first = (state->psb_first + 1) % RECORD_CHANNEL_PSBS;
		state->psb_count--;
	}
	at = (state->psb_first + state->psb_count) % RECORD_CHANNEL_PSBS;
	state->psbs[at] = (struct record_channel_psb){message->pt_offset, message->time};
	state->psb_count++;
	return status;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Prints the note, and writes the note to the trace. */
static int take_note(struct record_channel *channel, const struct channel_message_note *message)
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

	if (channel->notes++ >= NOTES_MAX)
		return 0;
	snprintf(text, sizeof(text), "%.*s", length, (const char *)(message + 1));
	if (message->severity)
		common_message_warning("process %u: %s", message->header.pid, text);
	else
		common_message_note("process %u: %s", message->header.pid, text);
	return record_note(channel->capture, &note);
}

static int take_message(struct record_channel *channel, struct record_channel_slot *state, struct channel_slot *slot,
			struct channel_message *message)
{
	struct record_channel_process *process = record_channel_find(channel, state->process);
	struct ptl_image_event image;
	bool has_image = false;
	int status = 0;

	/* The slot, not the message, tells the sender. */
	message->process = state->process;
	message->pid = state->pid;
	message->tid = state->tid;
	if (message->time > state->time)
		state->time = message->time;
	if (message->type == CHANNEL_MSG_VALUES)
		return channel->on_values ? channel->on_values(channel->context, (const void *)message) : 0;
	if (process && message->sequence > process->sequence)
		process->sequence = message->sequence;
	switch (message->type) {
	case CHANNEL_MSG_PSB:
		status = announce_psb(channel, state, message);
		break;
	case CHANNEL_MSG_CPU:
		status = record_channel_note_turn(channel, state, (const void *)message);
		break;
	case CHANNEL_MSG_IMAGE_MAP:
		status = look_at_image(channel, (const void *)message, &image);
		has_image = status == 0;
		if (channel->on_image)
			channel->on_image(channel->context, channel->channel.header, (const void *)message);
		if (has_image && message->request)
			channel_reply(slot, message->request, answer_of(channel, &image));
		break;
	case CHANNEL_MSG_EXEC:
		/* The threads of an attached program began before the exec report. */
		if (!(message->flags & CHANNEL_MESSAGE_RUNDOWN))
			status = record_channel_finish_process(channel, state->process, state);
		break;
	case CHANNEL_MSG_NOTE:
		status = take_note(channel, (const void *)message);
		break;
	default:
		break;
	}
	return status < 0 ? status : record_channel_order_message(&channel->order, message, has_image ? &image : NULL);
}

int record_channel_messages(struct record_channel *channel, struct record_channel_slot *state,
			    struct channel_slot *slot, bool *work)
{
	/* Reads at most one ring's size: a program that floods its ring must not delay other programs. */
	uint64_t budget = channel->channel.config.message_ring_size;
	/* On the stack, because handling a message may first read the messages of other slots. */
	_Alignas(8) uint8_t buffer[CHANNEL_MESSAGE_MAX];
	struct channel_message *message = (void *)buffer;
	int status = 0;

	while (status == 0 && budget) {
		const int size = channel_read_message(&channel->channel, slot, message);
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
			status = record_capture_loss(channel->capture, &loss);
			break;
		}
		budget -= (uint64_t)size < budget ? (uint64_t)size : budget;
		status = take_message(channel, state, slot, message);
	}
	return status;
}
