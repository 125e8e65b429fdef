/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Executable memory of processes: turns facts into changes, reports the changes, and keeps a log for forked children.
 */
#include "common/error.h"
#include "format/event/kernel_class.h"
#include "record/model/model_state.h"

/* Maximum delay between a fork and the first fact of the child. */
#define FORK_SECONDS 2
#define NANOSECONDS 1000000000ull
#define PRUNE_AT_LEAST 256 /* number of new changes before the next pruning */

/* Advances the two moments, and prunes changes that no pending fork can need. */
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

int record_memory_change(struct record_model *model, struct record_process *process, const struct record_fact *fact,
			 const struct record_change *change)
{
	const bool rundown = change->kind == RECORD_CHANGE_LOAD && fact->rundown;
	int status = rundown ? record_emit_image_rundown(model, process, PTL_OPCODE_START_RUNDOWN, change->image,
							 fact->time)
			     : record_emit_change(model, process, fact->tid, change, fact->time);

	if (status < 0) {
		record_image_drop(change->image);
		return status;
	}
	status = record_log_add(&process->log, change);
	if (change->epoch > process->latest_epoch)
		process->latest_epoch = change->epoch;
	return status < 0 ? status : prune(model, process);
}

static int image_mapped(struct record_model *model, struct record_process *process, const struct record_fact *fact)
{
	struct record_change change = {.kind = RECORD_CHANGE_LOAD, .epoch = fact->epoch};

	if (!fact->image || !format_is_range(fact->image->base, fact->image->size))
		return 0;
	change.base = fact->image->base;
	change.size = fact->image->size;
	change.image = record_image_new(fact->image);
	if (!change.image)
		return common_fail_memory("image", sizeof(*change.image));
	model->counts.images++;
	return record_memory_change(model, process, fact, &change);
}

int record_memory_fact(struct record_model *model, struct record_process *process, const struct record_fact *fact)
{
	static const enum record_change_kind kinds[] = {
		[RECORD_FACT_IMAGE_UNMAP] = RECORD_CHANGE_UNLOAD,
		[RECORD_FACT_IMAGE_PROTECT] = RECORD_CHANGE_PROTECT,
		[RECORD_FACT_CODE] = RECORD_CHANGE_CODE,
	};
	struct record_change change = {.epoch = fact->epoch, .base = fact->range.base, .size = fact->range.size};
	int status = 0;

	if (fact->kind == RECORD_FACT_IMAGE_MAP)
		return image_mapped(model, process, fact);
	if (!format_is_range(change.base, change.size))
		return 0;
	change.kind = kinds[fact->kind];
	if (fact->kind == RECORD_FACT_IMAGE_PROTECT)
		change.protection = fact->range.protection;
	if (fact->kind == RECORD_FACT_CODE && !model->sink.code)
		return 0;
	if (fact->kind == RECORD_FACT_CODE)
		status = model->sink.code(model->sink.context, fact->range.code, change.size, change.code);
	return status < 0 ? status : record_memory_change(model, process, fact, &change);
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
	/* The child continues the epochs of its parent. */
	child->log = log;
	child->log_pruned = log.count;
	child->latest_epoch = parent_epoch;
	return 0;
}
