/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stacks: the kernel's part and the program's part from the sample (frame pointers), or the program's part unwound
 * here.
 */
#include "record/kernel_event/stack.h"

#include <string.h>

#include "common/error.h"
#include "perf/stack.h"

static int unwind(struct kernel_event_stacks *stacks, const struct kernel_event_sample *sample, uint64_t time)
{
	struct elf_unwind_sample copy = {.pid = sample->pid, .stack = sample->stack, .stack_size = sample->stack_size};
	uint64_t frames[ELF_UNWIND_FRAMES];
	int count;

	memcpy(copy.registers, sample->registers, sizeof(copy.registers));
	count = kernel_event_unwind(&stacks->unwinder, &copy, time, frames);
	if (count < 0)
		return count;
	stacks->chain.size = 0;
	common_write_bytes(&stacks->chain, sample->callchain, sample->callchain_count * 8);
	for (int i = 0; i < count; i++)
		common_write_le(&stacks->chain, frames[i], 8);
	return stacks->chain.failed ? common_fail_memory("a stack", stacks->chain.size) : 0;
}

int kernel_event_stack_put(struct kernel_event_stacks *stacks, const struct kernel_event_sample *sample,
			   struct ptl_bytes *storage, struct ptl_extended *item, struct ptl_event *event)
{
	const bool in_storage = event->payload == storage->data;
	const uint8_t *chain = sample->callchain;
	size_t start, count = sample->callchain_count;
	int status = sample->registers ? unwind(stacks, sample, event->time) : 0;

	if (status < 0)
		return status;
	if (sample->registers) {
		chain = stacks->chain.data;
		count = stacks->chain.size / 8;
	}
	if (!count)
		return 0;
	perf_stack_put(storage, chain, count, item, &start);
	if (storage->failed)
		return common_fail_memory("a stack", storage->size);
	if (in_storage)
		event->payload = storage->data;
	item->data = storage->data + start;
	event->extended = item;
	event->extended_count = 1;
	return 0;
}

void kernel_event_stacks_free(struct kernel_event_stacks *stacks)
{
	kernel_event_unwinder_free(&stacks->unwinder);
	common_bytes_free(&stacks->chain);
}
