/* SPDX-License-Identifier: BSD-2-Clause */
/* Flow for people: columns of fixed width, so that lines stay aligned without being gathered first. */
#include <string.h>

#include "flow/code/disassembly.h"
#include "dump/print/flow.h"
#include "common/text.h"

#define ADDRESS_WIDTH 16
#define THREAD_WIDTH 18      /* "cc1plus/4711" */
#define BRANCH_WIDTH 13      /* "indirect-jump" */
#define COUNT_WIDTH 5
#define DISASSEMBLY_WIDTH 40

static const char *process_name(const struct dump_flow_print *print, uint32_t process)
{
	return process == PTL_NONE ? "" : ptl_timeline_process(print->timeline, process)->name;
}

/* ---- headings ------------------------------------------------------------------------------------ */

static void titles(const struct dump_flow_print *print, struct ptl_bytes *text)
{
	static const char *const of_level[] = {
		[DUMP_FLOW_BLOCK] = "         address  insns  ends with      symbol",
		[DUMP_FLOW_INSN] = "         address  instruction                               symbol",
		[DUMP_FLOW_BRANCH] = "            from                to  branch         symbols",
	};

	dump_text_add(text, print->dim);
	dump_text_add(text, "       time ms  ");
	if (print->bounds)
		dump_text_add(text, " not before ms    not after ms  ");
	if (print->merged) {
		const size_t start = text->size;

		dump_text_add(text, "thread");
		dump_text_pad(text, start, THREAD_WIDTH + 2);
	}
	dump_text_add(text, of_level[print->level]);
	dump_text_add(text, print->plain);
	dump_text_add(text, "\n");
}

static void heading(const struct dump_flow_print *print, const struct ptl_segment *segment,
		    struct ptl_bytes *text)
{
	if (!print->merged) {
		dump_text_add(text, print->bold);
		if (segment->cpu != PTL_NO_CPU)
			dump_text_format(text, "cpu %u", segment->cpu);
		if (segment->cpu != PTL_NO_CPU && segment->pid != PTL_NO_ID)
			dump_text_add(text, "  ");
		if (segment->pid != PTL_NO_ID) {
			const char *name = process_name(print, segment->process);

			dump_text_safe(text, *name ? name : "process");
			dump_text_format(text, " (%u)", segment->pid);
			if (segment->tid != PTL_NO_ID)
				dump_text_format(text, "  thread %u", segment->tid);
		}
		dump_text_add(text, print->plain);
		dump_text_add(text, "\n");
	}
	titles(print, text);
}

static void head(const struct dump_flow_print *print, const struct ptl_segment *segment,
		 const struct dump_flow_time *time, struct ptl_bytes *text)
{
	dump_text_time(text, time->time, print->start_time);
	dump_text_add(text, "  ");
	if (print->bounds) {
		dump_text_time(text, time->earliest, print->start_time);
		dump_text_add(text, "  ");
		dump_text_time(text, time->latest, print->start_time);
		dump_text_add(text, "  ");
	}
	if (print->merged) {
		const size_t start = text->size;

		dump_text_safe(text, process_name(print, segment->process));
		if (segment->tid != PTL_NO_ID)
			dump_text_format(text, "/%u", segment->tid);
		else
			dump_text_format(text, "cpu %u", segment->cpu);
		dump_text_pad(text, start, THREAD_WIDTH);
		dump_text_add(text, "  ");
	}
}

/* ---- code ---------------------------------------------------------------------------------------- */

static void add_source(const struct dump_flow_print *print, uint32_t image, uint64_t ip,
		       struct ptl_bytes *text)
{
	const char *file;
	uint32_t line;

	if (!print->sources || !dump_sources_find(print->sources, image, ip, &file, &line))
		return;
	dump_text_add(text, "  ");
	dump_text_add(text, print->dim);
	dump_text_safe(text, file);
	dump_text_add(text, ":");
	dump_text_decimal(text, line);
	dump_text_add(text, print->plain);
}

static void add_branch_name(uint8_t branch, struct ptl_bytes *text)
{
	const size_t start = text->size;

	dump_text_add(text, branch == PTL_BRANCH_NONE ? "-" : ptl_branch_name(branch));
	dump_text_pad(text, start, BRANCH_WIDTH);
	dump_text_add(text, "  ");
}

static void block(const struct dump_flow_print *print, const struct ptl_block *block,
		  struct ptl_bytes *text)
{
	dump_text_hex_right(text, block->ip, ADDRESS_WIDTH);
	dump_text_add(text, "  ");
	dump_text_decimal_right(text, block->instructions, COUNT_WIDTH);
	dump_text_add(text, "  ");
	add_branch_name(block->branch, text);
	dump_symbols_text(print->symbols, block->image, block->ip, text);
	add_source(print, block->image, block->ip, text);
	dump_text_add(text, "\n");
}

/* Where a direct branch leads, by name; only within its image, whose symbols are the ones that apply. */
static void add_target(const struct dump_flow_print *print, const struct ptl_block *block,
		       struct ptl_bytes *text)
{
	const struct ptl_image_event *image;

	if (!block->target || block->image == PTL_NONE)
		return;
	image = &ptl_timeline_image(print->timeline, block->image)->data;
	if (block->target - image->base >= image->size)
		return;
	dump_text_add(text, " -> ");
	dump_symbols_text(print->symbols, block->image, block->target, text);
}

static void instruction(const struct dump_flow_print *print, const struct ptl_block *block,
			uint32_t i, uint64_t ip, const uint8_t *code, struct ptl_bytes *text)
{
	size_t start;

	dump_text_hex_right(text, ip, ADDRESS_WIDTH);
	dump_text_add(text, "  ");
	start = text->size;
	dump_disassemble(code, block->lengths[i], block->mode, ip, text);
	dump_text_pad(text, start, DISASSEMBLY_WIDTH);
	dump_text_add(text, "  ");
	dump_symbols_text(print->symbols, block->image, ip, text);
	if (i + 1 == block->instructions)
		add_target(print, block, text);
	add_source(print, block->image, ip, text);
	dump_text_add(text, "\n");
}

static void branch(const struct dump_flow_print *print, const struct dump_flow_branch *branch,
		   struct ptl_bytes *text)
{
	dump_text_hex_right(text, branch->from.ip, ADDRESS_WIDTH);
	dump_text_add(text, "  ");
	if (branch->has_to) {
		dump_text_hex_right(text, branch->to.ip, ADDRESS_WIDTH);
	} else {
		const size_t start = text->size;

		dump_text_pad(text, start, ADDRESS_WIDTH - 1);
		dump_text_add(text, "-");
	}
	dump_text_add(text, "  ");
	add_branch_name(branch->kind, text);
	dump_symbols_text(print->symbols, branch->from.image, branch->from.ip, text);
	add_source(print, branch->from.image, branch->from.ip, text);
	if (branch->has_to) {
		dump_text_add(text, " -> ");
		dump_symbols_text(print->symbols, branch->to.image, branch->to.ip, text);
		add_source(print, branch->to.image, branch->to.ip, text);
	}
	dump_text_add(text, "\n");
}

/* ---- events -------------------------------------------------------------------------------------- */

/* "7f12a0001120 main+0x1f (gzip)", with words before it. */
static void add_place(const struct dump_flow_print *print, const char *words,
		      const struct dump_flow_place *place, struct ptl_bytes *text)
{
	dump_text_add(text, words);
	dump_text_hex(text, place->ip);
	if (place->image != PTL_NONE) {
		dump_text_add(text, " ");
		dump_symbols_text(print->symbols, place->image, place->ip, text);
	}
}

static const char *tsx_word(uint64_t value)
{
	return value == PTL_TSX_SPECULATIVE ? ": transaction begins"
	       : value == PTL_TSX_ABORTED   ? ": transaction aborted"
					    : ": no transaction";
}

/* ": interrupt, vector 14", ": page-fault-address 0x7f..."; a number where the type has no name. */
static void add_named(const char *name, uint8_t number, struct ptl_bytes *text)
{
	if (name)
		dump_text_format(text, ": %s", name);
	else
		dump_text_format(text, ": type %u", number);
}

static void add_control(const struct ptl_flow_event *event, struct ptl_bytes *text)
{
	add_named(ptl_control_name(event->type), event->type, text);
	if (ptl_control_has_vector(event->type))
		dump_text_format(text, ", vector %u", (unsigned)event->value);
}

static void add_number(const char *words, uint64_t value, struct ptl_bytes *text)
{
	dump_text_add(text, words);
	dump_text_add(text, "0x");
	dump_text_hex(text, value);
}

/* What an event carries besides addresses; a "%s" of text or a number. */
static void add_value(const struct ptl_flow_event *event, struct ptl_bytes *text)
{
	switch (event->kind) {
	case PTL_FLOW_TSX:
		dump_text_add(text, tsx_word(event->value));
		break;
	case PTL_FLOW_EXEC_MODE:
		dump_text_format(text, ": %u bits%s", (unsigned)event->value, event->type ? ", interrupts enabled" : "");
		break;
	case PTL_FLOW_CBR:
		dump_text_format(text, ": core-to-bus ratio %u", (unsigned)event->value);
		break;
	case PTL_FLOW_CONTROL:
		add_control(event, text);
		break;
	case PTL_FLOW_EVENT_DATA:
		add_named(ptl_event_data_name(event->type), event->type, text);
		add_number(" ", event->value, text);
		break;
	case PTL_FLOW_BLOCK_ITEM:
		dump_text_format(text, ": block %u, item %u, ", event->type, event->item);
		add_number("", event->value, text);
		break;
	case PTL_FLOW_PAGING:
		add_number(": ", event->value, text);
		dump_text_add(text, event->type ? " in a guest" : "");
		break;
	case PTL_FLOW_VMCS:
	case PTL_FLOW_PTWRITE:
	case PTL_FLOW_MWAIT:
	case PTL_FLOW_POWER_ENTRY:
	case PTL_FLOW_POWER_EXIT:
	case PTL_FLOW_TRIGGER:
		add_number(": ", event->value, text);
		break;
	}
}

static void add_gap(const struct dump_flow_print *print, const struct ptl_flow_event *event,
		    struct ptl_bytes *text)
{
	dump_text_add(text, print->red);
	dump_text_add(text, "-- gap: ");
	dump_text_add(text, ptl_gap_cause_name(event->cause));
	if (event->size) {
		dump_text_add(text, ", ");
		dump_text_size(text, event->size);
		dump_text_add(text, " of packets not decoded");
	}
}

static void event(const struct dump_flow_print *print, const struct ptl_flow_event *event,
		  const struct dump_flow_place *from, const struct dump_flow_place *to,
		  struct ptl_bytes *text)
{
	if (event->kind == PTL_FLOW_GAP) {
		add_gap(print, event, text);
	} else {
		dump_text_add(text, print->dim);
		dump_text_add(text, "-- ");
		dump_text_add(text, ptl_flow_kind_name(event->kind));
		add_value(event, text);
	}
	if (event->flags & PTL_EVENT_HAS_FROM)
		add_place(print, " at ", from, text);
	if (event->flags & PTL_EVENT_HAS_TO)
		add_place(print, event->kind == PTL_FLOW_ENABLED ? " at " : " to ", to, text);
	dump_text_add(text, print->plain);
	dump_text_add(text, "\n");
}

const struct dump_flow_format dump_flow_text = {
	.heading = heading,
	.head = head,
	.block = block,
	.instruction = instruction,
	.branch = branch,
	.event = event,
};
