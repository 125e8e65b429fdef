/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the kernel function that switches threads, by its symbol name in the trace. */
#include <stdlib.h>
#include <string.h>

#include <ptl/symbols.h>

#include "common/error.h"
#include "flow/segment/turn.h"

#define TABLE_MAX ((size_t)256 << 20)

void flow_turn_entries_close(struct flow_turn_entries *entries)
{
	free(entries->of_machines);
	free(entries->looked);
}

/*
 * Finds the address of the function in an image of the kernel; 0: not found. An unreadable table has no names. Returns
 * PTL_NO_MEMORY.
 */
static int look_up(struct ptl_trace *trace, const struct ptl_image_event *image, uint64_t *address)
{
	struct ptl_symbol_table *table = NULL;
	uint8_t *data = NULL;
	size_t size;
	int status;

	*address = 0;
	if (!image->has_symbols)
		return 0;
	status = ptl_blob_read(trace, image->symbols, TABLE_MAX, &data, &size);
	if (!status)
		status = ptl_symbols_decode(data, size, &table);
	free(data);
	for (size_t i = 0; !status && !*address && i < ptl_symbols_count(table); i++) {
		const struct ptl_symbol symbol = ptl_symbols_get(table, i);

		if (!strcmp(symbol.name, FLOW_TURN_FUNCTION))
			*address = symbol.address + (image->base - image->default_base);
	}
	ptl_symbols_free(table);
	return status == PTL_NO_MEMORY ? status : 0;
}

static int look_up_kernel(struct ptl_trace *trace, const struct flow_timeline *timeline, uint32_t pid, uint64_t *entry)
{
	const uint32_t index = flow_timeline_process_at(timeline, pid, FLOW_TIME_END);
	const struct flow_timeline_process *kernel = index == FLOW_NONE ? NULL : flow_timeline_process(timeline, index);
	int status = 0;

	for (size_t i = 0; !status && !*entry && kernel && i < kernel->image_count; i++) {
		status = look_up(trace, &flow_timeline_image(timeline, kernel->images[i])->data, entry);
		if (!flow_turn_is_kernel(*entry))
			*entry = 0;
	}
	return status;
}

int flow_turn_entry_find(struct ptl_trace *trace, const struct flow_timeline *timeline, uint32_t cpu,
			 struct flow_turn_entries *entries, uint64_t *entry)
{
	const size_t count = ptl_machine_count(trace) + 1;
	const size_t machine = cpu / PTL_MACHINE_IDS < count ? cpu / PTL_MACHINE_IDS : 0;
	int status = 0;

	if (!entries->of_machines)
		entries->of_machines = calloc(count, sizeof(*entries->of_machines));
	if (!entries->looked)
		entries->looked = calloc(count, sizeof(*entries->looked));
	if (!entries->of_machines || !entries->looked)
		return common_fail_memory("machines", count * sizeof(*entries->of_machines));
	if (!entries->looked[machine])
		status = look_up_kernel(trace, timeline, (uint32_t)machine * PTL_MACHINE_IDS,
					&entries->of_machines[machine]);
	entries->looked[machine] = true;
	*entry = entries->of_machines[machine];
	return status;
}
