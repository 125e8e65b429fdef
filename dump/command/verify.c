/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump verify: checks whether two engines agree on the executed code. */
#include <inttypes.h>

#include "analysis/verify/verify.h"
#include "common/error.h"
#include "common/program/message.h"
#include "dump/command/commands.h"
#include "dump/print/packet_text.h"
#include "dump/run/run.h"
#include "flow/code/disassembly.h"
#include "flow/segment/packet_walk.h"

/* Maximum packets shown before the difference. */
#define PACKETS_SHOWN 8

struct verify_options {
	struct dump_options shared;              /* must come first: see dump/run/command.h */
	const struct flow_engine_class *against; /* NULL: libipt */
};

static int take_against(void *against, const char *argument)
{
	const struct flow_engine_class *engine = flow_engine_find(argument);

	*(const struct flow_engine_class **)against = engine;
	return engine ? 0 : common_fail(PTL_MISUSE, "there is no engine of this name");
}

static const struct common_option own_options[] = {
	{"", 0, NULL, "What is compared:"},
	{"against", 0, "NAME", "The engine to be right by definition (default: libipt).",
	 COMMON_CALLBACK(struct verify_options, against, take_against)},
	{NULL},
};

static void print_item(FILE *out, const struct analysis_verify_item *item, bool marked)
{
	struct ptl_bytes text = {0};

	fprintf(out, marked ? " > " : "   ");
	if (item->is_event && item->kind == FLOW_GAP) {
		fprintf(out, "gap: %s\n", flow_gap_cause_name(item->flags));
	} else if (item->is_event) {
		fprintf(out, "%s from 0x%" PRIx64 " to 0x%" PRIx64 " value 0x%" PRIx64 "\n", flow_kind_name(item->kind),
			item->ip, item->last_ip, item->value);
	} else {
		flow_disassemble(item->code, item->code_size, item->mode, item->last_ip, &text);
		fprintf(out, "0x%" PRIx64 ": %" PRIu32 " instructions, the last at 0x%" PRIx64 ": %.*s\n", item->ip,
			item->instructions, item->last_ip, (int)text.size, (const char *)text.data);
	}
	common_bytes_free(&text);
}

static void print_side(FILE *out, const char *name, const struct analysis_verify_side *side)
{
	fprintf(out, "%s:\n", name);
	for (size_t i = 0; i < side->count; i++)
		print_item(out, &side->items[i], i == side->at);
	if (side->at >= side->count)
		fprintf(out, " > (the segment's flow ends)\n");
}

/* Returns the id that identifies the segment's machine. */
static uint32_t machine_id(const struct flow_segment *segment)
{
	return segment->cpu != PTL_NO_CPU ? segment->cpu : segment->pid;
}

/* Prints the packets up to the first packet that shows the difference. */
static int print_packets(struct dump_run *run, const struct analysis_verify *verify)
{
	char lines[PACKETS_SHOWN][PACKET_TEXT_SIZE + 32];
	struct flow_packet_walk walk;
	struct flow_packet_item item;
	size_t count = 0;
	int status = flow_packet_walk_start(&walk, run->trace, verify->segment.stream, verify->segment.offset,
					    verify->packets_end,
					    flow_errata_of(ptl_machine_of(run->trace, machine_id(&verify->segment))));

	if (status < 0)
		return status;
	while ((status = flow_packet_walk_next(&walk, &item)) > 0) {
		char text[PACKET_TEXT_SIZE];

		if (item.type != FLOW_PACKET_ITEM_PACKET || item.packet.kind == PTL_PT_PAD)
			continue;
		dump_packet_text(&item.packet, item.last_ip, text);
		snprintf(lines[count++ % PACKETS_SHOWN], sizeof(lines[0]), "   %" PRIu64 ": %s", item.offset, text);
	}
	flow_packet_walk_free(&walk);
	fprintf(run->out, "packets:\n");
	for (size_t i = count > PACKETS_SHOWN ? count - PACKETS_SHOWN : 0; i < count; i++)
		fprintf(run->out, "%s\n", lines[i % PACKETS_SHOWN]);
	return status;
}

static void print_json(struct dump_run *run, const struct analysis_verify *verify,
		       const struct flow_engine_class *const engines[2])
{
	struct common_json *json = &run->json_out;

	common_json_object(json, NULL);
	common_json_bool(json, "equal", !verify->differs);
	common_json_string(json, "engine", engines[1]->name);
	common_json_string(json, "against", engines[0]->name);
	common_json_u64(json, "segments", verify->segments);
	common_json_u64(json, "segments_with_gaps", verify->gaps);
	common_json_u64(json, "segments_with_unknown_instructions", verify->unknown);
	common_json_u64(json, "pt_bytes", verify->pt_bytes);
	common_json_u64(json, "undecoded_gaps", verify->missing_gaps);
	common_json_u64(json, "undecoded_bytes", verify->missing_bytes);
	common_json_u64(json, "blocks", verify->blocks);
	common_json_u64(json, "instructions", verify->instructions);
	common_json_u64(json, "events", verify->events);
	if (verify->differs) {
		common_json_u64(json, "stream", verify->segment.stream);
		common_json_u64(json, "pid", verify->segment.pid);
		common_json_u64(json, "tid", verify->segment.tid);
		common_json_u64(json, "segment_offset", verify->segment.offset);
		common_json_u64(json, "packets_end", verify->packets_end);
	}
	common_json_object_end(json);
	common_json_line(json);
}

static int print_text(struct dump_run *run, const struct analysis_verify *verify,
		      const struct flow_engine_class *const engines[2])
{
	FILE *out = run->out;

	fprintf(out,
		"%" PRIu64 " segments, %" PRIu64 " blocks, %" PRIu64 " instructions, %" PRIu64
		" events: %s and %s %s\n",
		verify->segments, verify->blocks, verify->instructions, verify->events, engines[0]->name,
		engines[1]->name, verify->differs ? "agree up to here" : "agree");
	if (verify->gaps)
		fprintf(out, "%" PRIu64 " of the segments have gaps, and were compared up to the first one\n",
			verify->gaps);
	if (verify->unknown)
		fprintf(out,
			"%" PRIu64 " of the segments have instructions that libipt 2.0 does not know, "
			"and were compared up to the first one\n",
			verify->unknown);
	if (verify->missing_gaps)
		fprintf(out,
			"no engine could decode %" PRIu64 " of %" PRIu64 " bytes of packets, in %" PRIu64
			" gaps: ptl-dump stats says why\n",
			verify->missing_bytes, verify->pt_bytes, verify->missing_gaps);
	if (!verify->differs)
		return 0;
	fprintf(out,
		"%sthey differ%s in stream %" PRIu32 ", process %" PRIu32 ", thread %" PRIu32
		", in the segment at offset %" PRIu64 ", before offset %" PRIu64 "\n",
		dump_red(run), dump_plain(run), verify->segment.stream, verify->segment.pid, verify->segment.tid,
		verify->segment.offset, verify->packets_end);
	for (unsigned i = 0; i < 2; i++)
		print_side(out, engines[i]->name, &verify->sides[i]);
	return print_packets(run, verify);
}

static int verify_run(struct dump_run *run)
{
	const struct verify_options *options = (const struct verify_options *)run->options;
	const struct flow_engine_class *const engines[2] = {
		options->against ? options->against : flow_engine_find("libipt"),
		run->options->engine ? run->options->engine : &flow_engine_native,
	};
	struct flow_view_options view_options;
	struct flow_timeline *timeline;
	struct analysis_verify verify;
	int status;

	if (!engines[0])
		return common_fail(PTL_UNSUPPORTED,
				   "this ptl-dump was built without libipt: use that of a full installation");
	if (engines[0] == engines[1])
		return common_fail(PTL_MISUSE,
				   "%s would be compared with itself: --engine and --against are two engines",
				   engines[0]->name);
	status = dump_run_timeline(run, &timeline);
	if (status < 0)
		return status;
	view_options = dump_run_view_options(run);
	status = analysis_verify_run(run->trace, timeline, &view_options, engines, &verify);
	common_progress_end();
	if (!status && run->options->json)
		print_json(run, &verify, engines);
	else if (!status)
		status = print_text(run, &verify, engines);
	if (!status && !verify.segments && !verify.differs)
		dump_run_note_no_flow(run);
	flow_timeline_free(timeline);
	if (status < 0)
		return status;
	return verify.differs ? COMMON_EXIT_FINDING : 0;
}

const struct dump_command dump_command_verify = {
	.name = "verify",
	.summary = "whether two engines agree on what was executed",
	.details =
		"Decodes every segment with two engines and compares blocks and events in order. The first difference "
		"is shown with the packets that lead to it, and the exit status is 1. Where flow is missing, a "
		"segment is compared up to the gap: what engines make of the rest of it may differ.",
	.examples = "ptl-dump verify build.ptl\n"
		    "ptl-dump verify --engine libipt-insn --pid 4711 build.ptl",
	.takes = DUMP_TAKES_PROCESS | DUMP_TAKES_CPU | DUMP_TAKES_TIME | DUMP_TAKES_DECODE,
	.options = own_options,
	.options_size = sizeof(struct verify_options),
	.run = verify_run,
};
