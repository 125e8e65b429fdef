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

/* Returns the columns that libptl-flow fills, from row `first` on. */
static struct ptl_flow_arrays arrays_of(const struct python_columns *columns, size_t first)
{
#define FROM(column) (columns->column ? columns->column + first : NULL)
	return (struct ptl_flow_arrays){
		.size = sizeof(struct ptl_flow_arrays),
		.ip = FROM(ip),
		.last_ip = FROM(last_ip),
		.target = FROM(target),
		.time = FROM(time),
		.instructions = FROM(instructions),
		.bytes = FROM(size),
		.image = FROM(image),
		.branch = FROM(branch),
	};
#undef FROM
}

static void fill_numbers(uint32_t *numbers, size_t first, size_t count, uint32_t number)
{
	for (size_t i = first; numbers && i < first + count; i++)
		numbers[i] = number;
}

int python_flow_columns(struct ptl_flow_iterator *iterator, const struct python_columns *columns, size_t room,
			size_t *count, size_t *gaps)
{
	const struct ptl_flow_item *item;

	*gaps = 0;
	*count = 0;
	while (*count < room) {
		const struct ptl_flow_arrays arrays = arrays_of(columns, *count);
		size_t got;
		int status = ptl_flow_next_arrays(iterator, &arrays, room - *count, &got, &item);

		if (status <= 0)
			return status;
		if (got) {
			fill_numbers(columns->pid, *count, got, item->segment->pid);
			fill_numbers(columns->tid, *count, got, item->segment->tid);
			fill_numbers(columns->cpu, *count, got, item->segment->cpu);
			*count += got;
		} else {
			*gaps += item->event->kind == PTL_FLOW_GAP;
		}
	}
	return 0;
}
