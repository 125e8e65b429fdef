/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Executable memory of processes: messages become changes, which are told and kept for forked
 * children.
 */
#include "common/error.h"
#include "record/capture/model_state.h"

/* How long a fork may take until the child is first heard of. */
#define FORK_SECONDS 2
#define NANOSECONDS 1000000000ull
#define PRUNE_AT_LEAST 256 /* changes more than after the last time */

/* A range as a message states it: not empty, and it does not wrap. */
static bool is_range(uint64_t base, uint64_t size)
{
	return size && size - 1 <= UINT64_MAX - base;
}

/* Moves the two moments on, and prunes what no fork that is under way can want. */
static int prune(struct record_model *model, struct record_process *process)
{
	int status = 0;

	if (model->now - process->epoch_at[1] >= FORK_SECONDS * NANOSECONDS) {
		process->epoch_at[0] = process->epoch_at[1];
		process->epoch[0] = process->epoch[1];
		process->epoch_at[1] = model->now;
		process->epoch[1] = process->latest_epoch;
	}
	if (process->log.count >= 2 * process->log_pruned + PRUNE_AT_LEAST) {
		status = record_log_prune(&process->log, process->epoch[0]);
		process->log_pruned = process->log.count;
	}
	return status;
}

int record_memory_change(struct record_model *model, struct record_process *process, const struct qemu_message *message,
			 const struct record_change *change)
{
	const bool rundown = change->kind == RECORD_CHANGE_LOAD && message->flags & QEMU_MESSAGE_RUNDOWN;
	int status = rundown ? record_emit_image_rundown(model, process, PTL_OPCODE_START_RUNDOWN, change->image,
							 message->time)
			     : record_emit_change(model, process, message->tid, change, message->time);

	if (status < 0) {
		record_image_drop(change->image);
		return status;
	}
	status = record_log_add(&process->log, change);
	if (change->epoch > process->latest_epoch)
		process->latest_epoch = change->epoch;
	return status < 0 ? status : prune(model, process);
}

static int image_mapped(struct record_model *model, struct record_process *process,
			const struct qemu_message_image *message, const struct ptl_image_event *image)
{
	struct record_change change = {
		.kind = RECORD_CHANGE_LOAD,
		.epoch = message->epoch,
		.base = message->base,
		.size = message->size,
	};

	if (!is_range(message->base, message->size) || !image)
		return 0;
	change.image = record_image_new(image);
	if (!change.image)
		return common_fail_memory("image", sizeof(*change.image));
	model->counts.images++;
	return record_memory_change(model, process, &message->header, &change);
}

static int code_executed(struct record_model *model, struct record_process *process,
			 const struct qemu_message_code *message)
{
	struct record_change change = {
		.kind = RECORD_CHANGE_CODE,
		.epoch = message->epoch,
		.base = message->base,
		.size = message->length,
	};
	int status;

	if (!is_range(message->base, message->length))
		return 0;
	if (!model->sink.code)
		return 0;
	status = model->sink.code(model->sink.context, (const uint8_t *)(message + 1), message->length, change.code);
	if (status < 0)
		return status;
	return record_memory_change(model, process, &message->header, &change);
}

int record_memory_message(struct record_model *model, struct record_process *process,
			  const struct qemu_message *message, const struct ptl_image_event *image)
{
	const struct qemu_message_unmap *unmap = (const void *)message;
	const struct qemu_message_protect *protect = (const void *)message;
	struct record_change change = {.kind = RECORD_CHANGE_UNLOAD};

	switch (message->type) {
	case QEMU_MSG_IMAGE_MAP:
		return image_mapped(model, process, (const void *)message, image);
	case QEMU_MSG_CODE:
		return code_executed(model, process, (const void *)message);
	case QEMU_MSG_IMAGE_UNMAP:
		change.epoch = unmap->epoch;
		change.base = unmap->base;
		change.size = unmap->size;
		break;
	case QEMU_MSG_IMAGE_PROTECT:
		change.kind = RECORD_CHANGE_PROTECT;
		change.epoch = protect->epoch;
		change.base = protect->base;
		change.size = protect->size;
		change.protection = protect->protection;
		break;
	default:
		return 0;
	}
	if (!is_range(change.base, change.size))
		return 0;
	return record_memory_change(model, process, message, &change);
}

int record_memory_inherit(struct record_model *model, struct record_process *child, const struct record_process *parent,
			  uint64_t parent_epoch)
{
	struct record_log log = {0};
	int status = record_log_copy(&parent->log, parent_epoch, &log);

	for (size_t i = 0; status == 0 && i < log.count; i++)
		status = record_emit_change(model, child, child->first_tid, &log.changes[i], child->start_time);
	if (status < 0) {
		record_log_free(&log);
		return status;
	}
	/* The child counts its epochs on from the parent's. */
	child->log = log;
	child->log_pruned = log.count;
	child->latest_epoch = parent_epoch;
	return 0;
}
