/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads flow items in bulk. */
#include "bindings/python/loops.h"

static void fill_block(struct python_flow_row *row, const struct ptl_flow_item *item)
{
	const struct ptl_flow_block *block = item->block;

	*row = (struct python_flow_row){
		.ip = block->ip,
		.last_ip = block->last_ip,
		.time = item->time,
		.target = block->target,
		.instructions = block->instructions,
		.size = block->size,
		.image = block->image,
		.branch = block->branch,
		.mode = block->mode,
		.flags = (uint8_t)(block->code_event | item->speculative << 1),
	};
}

static void fill_event(struct python_flow_row *row, const struct ptl_flow_event *event)
{
	*row = (struct python_flow_row){
		.ip = event->from,
		.last_ip = event->to,
		.time = event->time,
		.target = event->value,
		.offset = event->offset,
		.gap_size = event->size,
		.image = PTL_NO_ID,
		.branch = event->kind,
		.mode = event->type,
		.flags = event->flags,
		.cause = event->cause,
	};
}

int python_flow_rows(struct ptl_flow_iterator *iterator, struct python_flow_row *rows, size_t room, size_t *count)
{
	const struct ptl_flow_item *item;

	for (*count = 0; *count < room; ++*count) {
		struct python_flow_row *row = &rows[*count];
		int status = ptl_flow_next(iterator, &item);

		if (status <= 0)
			return status;
		if (item->block)
			fill_block(row, item);
		else
			fill_event(row, item->event);
		row->pid = item->segment->pid;
		row->tid = item->segment->tid;
		row->cpu = item->segment->cpu;
	}
	return 0;
}

static void fill_columns(const struct python_columns *columns, size_t i, const struct ptl_flow_item *item)
{
	const struct ptl_flow_block *block = item->block;

	if (columns->ip)
		columns->ip[i] = block->ip;
	if (columns->last_ip)
		columns->last_ip[i] = block->last_ip;
	if (columns->time)
		columns->time[i] = item->time;
	if (columns->target)
		columns->target[i] = block->target;
	if (columns->instructions)
		columns->instructions[i] = block->instructions;
	if (columns->size)
		columns->size[i] = block->size;
	if (columns->image)
		columns->image[i] = block->image;
	if (columns->pid)
		columns->pid[i] = item->segment->pid;
	if (columns->tid)
		columns->tid[i] = item->segment->tid;
	if (columns->cpu)
		columns->cpu[i] = item->segment->cpu;
	if (columns->branch)
		columns->branch[i] = block->branch;
}

int python_flow_columns(struct ptl_flow_iterator *iterator, const struct python_columns *columns, size_t room,
			size_t *count, size_t *gaps)
{
	const struct ptl_flow_item *item;

	*gaps = 0;
	*count = 0;
	while (*count < room) {
		int status = ptl_flow_next(iterator, &item);

		if (status <= 0)
			return status;
		if (item->block)
			fill_columns(columns, (*count)++, item);
		else
			*gaps += item->event->kind == PTL_FLOW_GAP;
	}
	return 0;
}
