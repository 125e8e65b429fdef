/* SPDX-License-Identifier: BSD-2-Clause */
/* Resolves addresses of stacks at the time of their event. */
#include "analysis/event/stack.h"

#include <string.h>

#include "analysis/event/extended.h"
#include "common/text/text.h"
#include "common/vector.h"

#define ADDRESS_WIDTH 18 /* "0x" and 16 digits */
#define KERNEL_PID 0u

/* Returns the spaces. Images of the kernel belong to process 0, and are visible in each process. */
struct analysis_stack_space analysis_stack_space(const struct analysis_stacks *stacks, const struct ptl_event *event)
{
	const uint32_t pids[] = {event->pid, KERNEL_PID};
	struct analysis_stack_space space;

	for (size_t i = 0; i < 2; i++) {
		const uint32_t process = flow_timeline_process_at(stacks->timeline, pids[i], event->time);
		struct flow_version version;

		flow_timeline_version(stacks->timeline, process, event->time, &version);
		space.roots[i] = version.root;
	}
	return space;
}

uint32_t analysis_stack_image(const struct analysis_stacks *stacks, const struct analysis_stack_space *space,
			      const struct analysis_stack_frame *frame)
{
	for (size_t i = 0; i < 2; i++) {
		struct format_piece piece;

		if (flow_version_find(stacks->timeline, space->roots[i], frame->address - frame->returns, &piece) &&
		    piece.image != FLOW_NONE)
			return piece.image;
	}
	return FLOW_NONE;
}

/*
 * Whether the image is of Windows. A Windows image is one mapping at its preferred base, and places are known by their
 * offset. Places of Linux images are known by the address in the file's own address space, as in objdump.
 */
static bool is_of_windows(const struct flow_timeline_image *image)
{
	return !strchr(image->data.file_name, '/') && strchr(image->data.file_name, '\\');
}

/*
 * Reads a frame. The innermost addresses in the kernel and in the program are addresses of instructions; all others are
 * return addresses.
 */
static struct analysis_stack_frame find_frame(const struct analysis_stack *stack, size_t number)
{
	const uint64_t address = analysis_stack_frame(stack, number);
	const bool is_first = !number || (analysis_stack_frame(stack, number - 1) >> 63 && !(address >> 63));

	return (struct analysis_stack_frame){.address = address, .returns = !is_first && address};
}

/*
 * Whether the symbol names padding before a function. An interrupt in the kernel leaves the interrupted address, which
 * may be a function's first instruction. The byte before is then kernel padding with a name of its own, not a call.
 */
static bool is_filling(const char *name)
{
	return strncmp(name, "__pfx_", 6) == 0;
}

uint64_t analysis_stack_place(const struct analysis_stacks *stacks, uint32_t image,
			      const struct analysis_stack_frame *frame)
{
	const uint64_t address = frame->address - frame->returns;
	struct flow_symbol symbol;

	if (frame->returns && image != FLOW_NONE && flow_symbols_find(stacks->symbols, image, address, &symbol) &&
	    is_filling(symbol.name))
		return frame->address;
	return address;
}

bool analysis_has_stack(const struct ptl_event *event)
{
	struct analysis_stack stack;

	for (size_t i = 0; i < event->extended_count; i++)
		if (analysis_stack_read(&event->extended[i], &stack) && stack.count)
			return true;
	return false;
}

int analysis_stack_frames_read(struct analysis_stack_frames *frames, const struct ptl_event *event)
{
	struct analysis_stack stack;

	frames->count = 0;
	for (size_t i = 0; i < event->extended_count; i++) {
		if (!analysis_stack_read(&event->extended[i], &stack) || !stack.count)
			continue;
		if (COMMON_VECTOR_RESERVE(frames->list, frames->capacity, frames->count + stack.count, "stacks") < 0)
			return PTL_NO_MEMORY;
		for (size_t k = 0; k < stack.count; k++)
			frames->list[frames->count++] = find_frame(&stack, k);
	}
	return 0;
}

/* ---- text ---------------------------------------------------------------------------------------- */

/* A frame with its symbol. */
struct frame {
	uint64_t address;
	uint32_t image;
	bool has_symbol;
	struct flow_symbol symbol; /* `offset` refers to the frame's address */
};

static struct frame name_frame(const struct analysis_stacks *stacks, const struct analysis_stack_space *space,
			       const struct analysis_stack *stack, size_t number)
{
	const struct analysis_stack_frame found = find_frame(stack, number);
	struct frame frame = {.address = found.address, .image = analysis_stack_image(stacks, space, &found)};
	const uint64_t place = analysis_stack_place(stacks, frame.image, &found);

	frame.has_symbol = frame.image != FLOW_NONE &&
			   flow_symbols_find(stacks->symbols, frame.image, place, &frame.symbol);
	if (frame.has_symbol)
		frame.symbol.offset += frame.address - place;
	return frame;
}

static void add_symbol(struct ptl_bytes *text, const struct analysis_stacks *stacks, const struct frame *frame)
{
	flow_symbols_shown_name(stacks->symbols, frame->symbol.name, text);
	if (frame->symbol.offset) {
		common_text_add(text, "+0x");
		common_text_hex(text, frame->symbol.offset);
	}
	common_text_add(text, " (");
	flow_symbols_image(stacks->symbols, frame->image, text);
	common_text_add(text, ")");
}

static void add_frame_place(struct ptl_bytes *text, const struct analysis_stacks *stacks, const struct frame *frame)
{
	const uint32_t image = frame->image;
	const uint64_t address = frame->address;
	const struct flow_timeline_image *data;

	if (image == FLOW_NONE) {
		flow_symbols_text(stacks->symbols, image, address, text);
		return;
	}
	if (frame->has_symbol) {
		add_symbol(text, stacks, frame);
		return;
	}
	data = flow_timeline_image(stacks->timeline, image);
	flow_symbols_image(stacks->symbols, image, text);
	common_text_add(text, "+0x");
	common_text_hex(text, is_of_windows(data) ? address - data->data.base : flow_image_address(data, address));
}

void analysis_text_stacks(struct ptl_bytes *text, const struct analysis_stacks *stacks, const struct ptl_event *event)
{
	const struct analysis_stack_space space = analysis_stack_space(stacks, event);
	struct analysis_stack stack;

	for (size_t i = 0; i < event->extended_count; i++) {
		if (!analysis_stack_read(&event->extended[i], &stack))
			continue;
		for (size_t k = 0; k < stack.count; k++) {
			const struct frame frame = name_frame(stacks, &space, &stack, k);
			size_t start;

			common_text_add(text, "        ");
			start = text->size;
			common_text_add(text, "0x");
			common_text_hex(text, frame.address);
			common_text_pad(text, start, ADDRESS_WIDTH);
			common_text_add(text, "  ");
			add_frame_place(text, stacks, &frame);
			common_text_add(text, "\n");
		}
	}
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static void json_frame(struct common_json *json, struct ptl_bytes *scratch, const struct analysis_stacks *stacks,
		       const struct frame *frame)
{
	const uint64_t address = frame->address;

	common_json_object(json, NULL);
	common_json_hex(json, "ip", address);
	if (frame->has_symbol) {
		scratch->size = 0;
		flow_symbols_name(stacks->symbols, frame->symbol.name, scratch);
		common_json_string(json, "symbol", common_text_string(scratch));
		common_json_u64(json, "offset", frame->symbol.offset);
	}
	if (frame->image != FLOW_NONE) {
		const struct flow_timeline_image *data = flow_timeline_image(stacks->timeline, frame->image);

		common_json_string(json, "image", data->data.file_name);
		if (is_of_windows(data))
			common_json_hex(json, "image_offset", address - data->data.base);
		else
			common_json_hex(json, "image_address", flow_image_address(data, address));
	}
	common_json_object_end(json);
}

void analysis_json_stacks(struct common_json *json, struct ptl_bytes *scratch, const struct analysis_stacks *stacks,
			  const struct ptl_event *event)
{
	const struct analysis_stack_space space = analysis_stack_space(stacks, event);
	struct analysis_stack stack;
	bool any = false;

	for (size_t i = 0; i < event->extended_count; i++) {
		if (!analysis_stack_read(&event->extended[i], &stack))
			continue;
		if (!any)
			common_json_array(json, "stack");
		any = true;
		for (size_t k = 0; k < stack.count; k++) {
			const struct frame frame = name_frame(stacks, &space, &stack, k);

			json_frame(json, scratch, stacks, &frame);
		}
	}
	if (any)
		common_json_array_end(json);
}
