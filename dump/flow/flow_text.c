/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats flow as text. Columns have fixed widths, so lines are aligned without reading all of them first. */
#include <string.h>

#include "common/text/text.h"
#include "dump/flow/flow.h"
#include "flow/code/disassembly.h"

#define ADDRESS_WIDTH 16
#define BRANCH_WIDTH 13 /* "indirect-jump" */
#define COUNT_WIDTH 5
#define DISASSEMBLY_WIDTH 40
#define IMAGE_WIDTH 20  /* "ld-linux-x86-64.so.2" */
#define SYMBOL_WIDTH 32 /* only if more text follows */

/* ---- headings ------------------------------------------------------------------------------------ */

static void titles(const struct dump_flow_print *print, struct ptl_bytes *text)
{
	static const char *const of_level[] = {
		[DUMP_FLOW_BLOCK] = "         address  insns  ends with      image                 symbol",
		[DUMP_FLOW_INSN] =
			"         address  instruction                               image                 symbol",
		[DUMP_FLOW_BRANCH] = ("            from                to  branch         image                 "
				      "symbol                            to image              to symbol"),
	};

	common_text_add(text, print->dim);
	common_text_add(text, "       time ms  ");
	if (print->bounds)
		common_text_add(text, " not before ms    not after ms  ");
	if (print->merged) {
		const size_t start = text->size;

		common_text_add(text, "thread");
		common_text_pad(text, start, print->thread_width + 2);
	}
	common_text_add(text, of_level[print->level]);
	common_text_add(text, print->plain);
	common_text_add(text, "\n");
}

static void text_heading(const struct dump_flow_print *print, const struct flow_segment *segment,
			 struct ptl_bytes *text)
{
	if (!print->merged) {
		common_text_add(text, print->bold);
		if (segment->cpu != PTL_NO_CPU)
			common_text_format(text, "cpu %u", segment->cpu);
		if (segment->cpu != PTL_NO_CPU && segment->pid != PTL_NO_ID)
			common_text_add(text, "  ");
		if (segment->pid != PTL_NO_ID) {
			const char *name = flow_timeline_process_name(print->timeline, segment->process, 0);

			common_text_safe(text, *name ? name : "process");
			common_text_format(text, " (%u)", segment->pid);
			if (segment->tid != PTL_NO_ID)
				common_text_format(text, "  thread %u", segment->tid);
		}
		common_text_add(text, print->plain);
		common_text_add(text, "\n");
	}
	titles(print, text);
}

static void head(const struct dump_flow_print *print, const struct flow_segment *segment,
		 const struct dump_flow_time *time, struct ptl_bytes *text)
{
	common_text_time(text, time->time, print->start_time);
	common_text_add(text, "  ");
	if (print->bounds) {
		common_text_time(text, time->earliest, print->start_time);
		common_text_add(text, "  ");
		common_text_time(text, time->latest, print->start_time);
		common_text_add(text, "  ");
	}
	if (print->merged) {
		const size_t start = text->size;

		common_text_safe(text, flow_timeline_process_name(print->timeline, segment->process, time->time));
		if (segment->tid != PTL_NO_ID)
			common_text_format(text, "/%u", segment->tid);
		else
			common_text_format(text, "cpu %u", segment->cpu);
		common_text_pad(text, start, print->thread_width);
		common_text_add(text, "  ");
	}
}

/* ---- code ---------------------------------------------------------------------------------------- */

static void add_source(const struct dump_flow_print *print, uint32_t image, uint64_t ip, struct ptl_bytes *text)
{
	const char *file;
	uint32_t line;

	if (!print->sources || !flow_sources_find(print->sources, image, ip, &file, &line))
		return;
	common_text_add(text, "  ");
	common_text_add(text, print->dim);
	common_text_safe(text, file);
	common_text_add(text, ":");
	common_text_decimal(text, line);
	common_text_add(text, print->plain);
}

/* Appends the columns of a place. Longer names exceed the minimum width. */
static void add_columns(const struct dump_flow_print *print, uint32_t image, uint64_t ip, size_t symbol_width,
			struct ptl_bytes *text)
{
	size_t start = text->size;

	flow_symbols_image(print->symbols, image, text);
	common_text_pad(text, start, IMAGE_WIDTH);
	common_text_add(text, "  ");
	start = text->size;
	flow_symbols_symbol(print->symbols, image, ip, text);
	common_text_pad(text, start, symbol_width);
}

static void add_branch_name(uint8_t branch, struct ptl_bytes *text)
{
	const size_t start = text->size;

	common_text_add(text, branch == FLOW_BRANCH_NONE ? "-" : flow_branch_name(branch));
	common_text_pad(text, start, BRANCH_WIDTH);
	common_text_add(text, "  ");
}

static void block(const struct dump_flow_print *print, const struct flow_block *block, struct ptl_bytes *text)
{
	common_text_hex_right(text, block->ip, ADDRESS_WIDTH);
	common_text_add(text, "  ");
	common_text_decimal_right(text, block->instructions, COUNT_WIDTH);
	common_text_add(text, "  ");
	add_branch_name(block->branch, text);
	add_columns(print, block->image, block->ip, 0, text);
	add_source(print, block->image, block->ip, text);
	common_text_add(text, "\n");
}

/* Appends the symbol at a direct branch's target, only within the image: the symbols of other images may not apply. */
static void add_target(const struct dump_flow_print *print, const struct flow_block *block, struct ptl_bytes *text)
{
	const struct ptl_image_event *image;

	if (!block->target || block->image == FLOW_NONE)
		return;
	image = &flow_timeline_image(print->timeline, block->image)->data;
	if (block->target - image->base >= image->size)
		return;
	common_text_add(text, " -> ");
	flow_symbols_symbol(print->symbols, block->image, block->target, text);
}

static void instruction(const struct dump_flow_print *print, const struct flow_block *block, uint32_t i, uint64_t ip,
			const uint8_t *code, struct ptl_bytes *text)
{
	size_t start;

	common_text_hex_right(text, ip, ADDRESS_WIDTH);
	common_text_add(text, "  ");
	start = text->size;
	flow_disassemble(code, block->lengths[i], block->mode, ip, text);
	common_text_pad(text, start, DISASSEMBLY_WIDTH);
	common_text_add(text, "  ");
	add_columns(print, block->image, ip, 0, text);
	if (i + 1 == block->instructions)
		add_target(print, block, text);
	add_source(print, block->image, ip, text);
	common_text_add(text, "\n");
}

static void branch(const struct dump_flow_print *print, const struct dump_flow_branch *branch, struct ptl_bytes *text)
{
	common_text_hex_right(text, branch->from.ip, ADDRESS_WIDTH);
	common_text_add(text, "  ");
	if (branch->has_to) {
		common_text_hex_right(text, branch->to.ip, ADDRESS_WIDTH);
	} else {
		const size_t start = text->size;

		common_text_pad(text, start, ADDRESS_WIDTH - 1);
		common_text_add(text, "-");
	}
	common_text_add(text, "  ");
	add_branch_name(branch->kind, text);
	add_columns(print, branch->from.image, branch->from.ip, branch->has_to ? SYMBOL_WIDTH : 0, text);
	if (branch->has_to) {
		common_text_add(text, "  ");
		add_columns(print, branch->to.image, branch->to.ip, 0, text);
	}
	add_source(print, branch->from.image, branch->from.ip, text);
	if (branch->has_to) {
		const size_t start = text->size, arrow = start + 3;

		common_text_add(text, " ->");
		add_source(print, branch->to.image, branch->to.ip, text);
		text->size = text->size > arrow ? text->size : start;
	}
	common_text_add(text, "\n");
}

/* ---- events -------------------------------------------------------------------------------------- */

/* Appends a place after `words`: "7f12a0001120 main+0x1f (gzip)". */
static void add_text_place(const struct dump_flow_print *print, const char *words, const struct dump_flow_place *place,
			   struct ptl_bytes *text)
{
	common_text_add(text, words);
	common_text_hex(text, place->ip);
	if (place->image != FLOW_NONE) {
		common_text_add(text, " ");
		flow_symbols_text(print->symbols, place->image, place->ip, text);
	}
}

static const char *tsx_word(uint64_t value)
{
	return value == FLOW_TSX_SPECULATIVE ? ": transaction begins"
	       : value == FLOW_TSX_ABORTED   ? ": transaction aborted"
					     : ": no transaction";
}

/* Appends ": interrupt, vector 14" or ": page-fault-address 0x7f..."; without a name, the number of the type. */
static void add_named(const char *name, uint8_t number, struct ptl_bytes *text)
{
	if (name)
		common_text_format(text, ": %s", name);
	else
		common_text_format(text, ": type %u", number);
}

static void add_control(const struct flow_event *event, struct ptl_bytes *text)
{
	add_named(flow_control_name(event->type), event->type, text);
	if (flow_control_has_vector(event->type))
		common_text_format(text, ", vector %u", (unsigned)event->value);
}

static void add_number(const char *words, uint64_t value, struct ptl_bytes *text)
{
	common_text_add(text, words);
	common_text_add(text, "0x");
	common_text_hex(text, value);
}

/* Appends the event's data other than addresses, as words or a number. */
static void add_value(const struct flow_event *event, struct ptl_bytes *text)
{
	switch (event->kind) {
	case FLOW_TSX:
		common_text_add(text, tsx_word(event->value));
		break;
	case FLOW_EXEC_MODE:
		common_text_format(text, ": %u bits%s", (unsigned)event->value,
				   event->type ? ", interrupts enabled" : "");
		break;
	case FLOW_CBR:
		common_text_format(text, ": core-to-bus ratio %u", (unsigned)event->value);
		break;
	case FLOW_CONTROL:
		add_control(event, text);
		break;
	case FLOW_EVENT_DATA:
		add_named(flow_event_data_name(event->type), event->type, text);
		add_number(" ", event->value, text);
		break;
	case FLOW_BLOCK_ITEM:
		common_text_format(text, ": block %u, item %u, ", event->type, event->item);
		add_number("", event->value, text);
		break;
	case FLOW_PAGING:
		add_number(": ", event->value, text);
		common_text_add(text, event->type ? " in a guest" : "");
		break;
	case FLOW_VMCS:
	case FLOW_PTWRITE:
	case FLOW_MWAIT:
	case FLOW_POWER_ENTRY:
	case FLOW_POWER_EXIT:
	case FLOW_TRIGGER:
		add_number(": ", event->value, text);
		break;
	}
}

static void add_gap(const struct dump_flow_print *print, const struct flow_event *event, struct ptl_bytes *text)
{
	common_text_add(text, print->red);
	common_text_add(text, "-- gap: ");
	common_text_add(text, flow_gap_cause_name(event->cause));
	if (event->size) {
		common_text_add(text, ", ");
		common_text_size(text, event->size);
		common_text_add(text, " of packets not decoded");
	}
	if (event->value)
		add_number(", VMCS ", event->value, text);
}

static const char *words_before_to(uint8_t kind)
{
	switch (kind) {
	case FLOW_ENABLED:
		return " at ";
	case FLOW_GAP:
		return ", goes on at ";
	default:
		return " to ";
	}
}

static void text_event(const struct dump_flow_print *print, const struct flow_event *event,
		       const struct dump_flow_place *from, const struct dump_flow_place *to, struct ptl_bytes *text)
{
	if (event->kind == FLOW_GAP) {
		add_gap(print, event, text);
	} else {
		common_text_add(text, print->dim);
		common_text_add(text, "-- ");
		common_text_add(text, flow_kind_name(event->kind));
		add_value(event, text);
	}
	if (event->flags & FLOW_EVENT_UNPLACED)
		common_text_add(text, ", its TIP is missing");
	if (event->flags & FLOW_EVENT_HAS_FROM)
		add_text_place(print, " at ", from, text);
	if (event->flags & FLOW_EVENT_HAS_TO)
		add_text_place(print, words_before_to(event->kind), to, text);
	common_text_add(text, print->plain);
	common_text_add(text, "\n");
}

const struct dump_flow_format dump_flow_text = {
	.heading = text_heading,
	.head = head,
	.block = block,
	.instruction = instruction,
	.branch = branch,
	.event = text_event,
};
