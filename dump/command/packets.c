/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump packets: the Intel PT packets of each stream. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/plural.h"
#include "common/error.h"
#include "common/program/message.h"
#include "common/text/digits.h"
#include "dump/command/commands.h"
#include "dump/print/packet_text.h"
#include "dump/run/run.h"
#include "flow/segment/packet_walk.h"
#include "format/pt/tsc.h"

/* Number of packets between calls of dump_output_check. */
#define CHECK_EVERY 4096

struct packets_options {
	struct dump_options shared; /* must come first: see dump/run/command.h */
	bool raw;
	uint64_t kinds; /* bit set of enum ptl_pt_kind; 0: all */
};

_Static_assert(PTL_PT_KINDS <= 64, "a set of kinds is 64 bits");

/* State of the command. */
struct packets {
	struct dump_run *run;
	const struct packets_options *options;
	const struct ptl_stream *stream; /* current stream */
	bool headed;                     /* its heading was printed */
	uint64_t items;
	uint64_t skipped;  /* bytes of the stream that belong to no packet */
	uint64_t places;   /* number of places with such bytes */
	unsigned left_out; /* streams of a CPU that --pid or --tid excludes */
};

/* Whether the packet name matches the text. TNT also matches TNT-64, and MODE matches both of its leaves. */
static bool is_called(const char *name, const char *text, size_t size)
{
	if (strncasecmp(name, text, size))
		return false;
	return !name[size] || name[size] == '-' || (size == 4 && !strncmp(name, "MODE", 4));
}

static bool add_kind(uint64_t *kinds, const char *text, size_t size)
{
	uint64_t before = *kinds;

	for (unsigned kind = 1; kind < PTL_PT_KINDS; kind++)
		if (is_called(ptl_pt_kind_name(kind), text, size))
			*kinds |= 1ull << kind;
	return *kinds != before;
}

static int take_kind(void *kinds, const char *argument)
{
	for (;;) {
		size_t size = strcspn(argument, ",");
		uint64_t added = 0;

		if (!size || !add_kind(&added, argument, size))
			return common_fail(PTL_MISUSE,
					   "\"%.*s\" is no kind of packet: expected psb, tnt, tip, "
					   "tip.pge, ...",
					   (int)size, argument);
		*(uint64_t *)kinds |= added;
		if (!argument[size])
			return 0;
		argument += size + 1;
	}
}

static const struct common_option own_options[] = {
	{.long_name = "kind",
	 .argument = "KIND,...",
	 .help = "Only packets of these kinds, such as psb, tnt, tip, tip.pge, fup, mode, tsc.",
	 COMMON_CALLBACK(struct packets_options, kinds, take_kind)},
	{.long_name = "raw", .help = "The bytes of each packet too.", COMMON_FLAG(struct packets_options, raw)},
	{NULL},
};

static void packets_heading(struct packets *packets)
{
	const struct ptl_stream *stream = packets->stream;
	struct dump_run *run = packets->run;
	struct common_json *json = &run->json_out;

	if (!run->options->json) {
		fprintf(run->out, "%sstream %" PRIu32, dump_bold(run), stream->id);
		if (stream->cpu != PTL_NO_CPU)
			fprintf(run->out, "  cpu %" PRIu32, stream->cpu);
		if (stream->pid != PTL_NO_ID)
			fprintf(run->out, "  pid %" PRIu32 "  tid %" PRIu32, stream->pid, stream->tid);
		fprintf(run->out, "  %" PRIu64 " bytes%s\n", stream->bytes, dump_plain(run));
		return;
	}
	common_json_object(json, NULL);
	common_json_u64(json, "stream", stream->id);
	if (stream->cpu != PTL_NO_CPU)
		common_json_u64(json, "cpu", stream->cpu);
	if (stream->pid != PTL_NO_ID) {
		common_json_u64(json, "pid", stream->pid);
		common_json_u64(json, "tid", stream->tid);
	}
	common_json_u64(json, "bytes", stream->bytes);
	common_json_object_end(json);
	common_json_line(json);
}

/*
 * Computes the time of a TSC packet in nanoseconds since the start of the trace (may be negative). Returns false for
 * other packets.
 */
static bool packet_time(const struct packets *packets, const struct ptl_pt_packet *packet, int64_t *time)
{
	const struct ptl_stream *stream = packets->stream;
	const struct ptl_trace *trace = packets->run->trace;
	const struct ptl_machine *machine = ptl_machine_of(trace,
							   stream->cpu != PTL_NO_CPU ? stream->cpu : stream->pid);
	uint64_t tsc;

	if (packet->kind != PTL_PT_TSC || !machine->tsc_multiplier)
		return false;
	tsc = format_tsc_extend(format_tsc_lowest(machine), packet->tsc.tsc);
	*time = (int64_t)(format_tsc_time(machine, tsc) - ptl_trace_machine(trace)->start_time);
	return true;
}

/* Returns the name of an item that is no packet. */
static const char *type_name(enum flow_packet_item_type type)
{
	return type == FLOW_PACKET_ITEM_LOST ? "lost" : type == FLOW_PACKET_ITEM_DAMAGED ? "damaged" : "skipped";
}

static void show_json(struct packets *packets, const struct flow_packet_item *item)
{
	struct common_json *json = &packets->run->json_out;
	int64_t time;

	common_json_object(json, NULL);
	common_json_u64(json, "stream", packets->stream->id);
	common_json_u64(json, "offset", item->offset);
	if (item->type == FLOW_PACKET_ITEM_PACKET) {
		dump_packet_json(&item->packet, item->last_ip, json);
		if (packet_time(packets, &item->packet, &time))
			common_json_i64(json, "time", time);
		if (packets->options->raw) {
			char hex[2 * PTL_PT_PACKET_MAX + 1];

			for (unsigned i = 0; i < item->packet.size; i++)
				snprintf(hex + 2 * i, 3, "%02x", item->bytes[i]);
			common_json_string(json, "raw", hex);
		}
	} else {
		common_json_u64(json, type_name(item->type), item->size);
		common_json_string(json, "cause", item->cause);
	}
	common_json_object_end(json);
	common_json_line(json);
}

/* Writes a right-aligned offset: "    1a40  ". */
static void put_offset(FILE *out, uint64_t offset)
{
	char text[24], *const end = text + sizeof(text);
	char *at = end;

	*--at = ' ';
	*--at = ' ';
	at = common_hex_before(at, offset);
	while (at > end - 12)
		*--at = ' ';
	fwrite(at, 1, (size_t)(end - at), out);
}

/* Writes the packet's bytes in hexadecimal. Of a PSB, the longest packet, only the first bytes. */
static void put_raw(FILE *out, const struct flow_packet_item *item)
{
	char text[40];
	size_t at = 0;

	for (unsigned i = 0; i < item->packet.size && i < 11; i++) {
		text[at++] = "0123456789abcdef"[item->bytes[i] >> 4];
		text[at++] = "0123456789abcdef"[item->bytes[i] & 15];
	}
	while (at < 24)
		text[at++] = ' ';
	fwrite(text, 1, at, out);
}

/* Writes "  # 12.345678 ms", a comment in the text language of packets. */
static void put_time(const struct dump_run *run, int64_t time)
{
	uint64_t size = time < 0 ? -(uint64_t)time : (uint64_t)time;

	fprintf(run->out, "  %s# %s%" PRIu64 ".%06" PRIu64 " ms%s", dump_dim(run), time < 0 ? "-" : "", size / 1000000,
		size % 1000000, dump_plain(run));
}

static void show_text(struct packets *packets, const struct flow_packet_item *item)
{
	struct dump_run *run = packets->run;
	char text[PACKET_TEXT_SIZE];
	int64_t time;
	size_t size;

	put_offset(run->out, item->offset);
	if (item->type != FLOW_PACKET_ITEM_PACKET) {
		fprintf(run->out, "%s! %" PRIu64 " byte%s %s: %s%s\n", dump_red(run), item->size,
			item->size == 1 ? "" : "s", type_name(item->type), item->cause, dump_plain(run));
		return;
	}
	if (packets->options->raw)
		put_raw(run->out, item);
	size = dump_packet_text(&item->packet, item->last_ip, text);
	fwrite(text, 1, size, run->out);
	if (packet_time(packets, &item->packet, &time))
		put_time(run, time);
	putc_unlocked('\n', run->out);
}

static void show_packet(struct packets *packets, const struct flow_packet_item *item)
{
	if (item->type == FLOW_PACKET_ITEM_SKIPPED) {
		packets->skipped += item->size;
		packets->places++;
	}
	if (item->type == FLOW_PACKET_ITEM_PACKET && packets->options->kinds &&
	    !(packets->options->kinds >> item->packet.kind & 1))
		return;
	if (packets->run->options->json)
		show_json(packets, item);
	else
		show_text(packets, item);
}

static struct flow_errata errata_of(const struct packets *packets)
{
	const struct ptl_stream *stream = packets->stream;

	return flow_errata_of(
		ptl_machine_of(packets->run->trace, stream->cpu != PTL_NO_CPU ? stream->cpu : stream->pid));
}

/* Shows the packets between two stream offsets. */
static int show_range(struct packets *packets, uint64_t from, uint64_t end)
{
	struct ptl_trace *trace = packets->run->trace;
	uint32_t stream = packets->stream->id;
	struct flow_packet_item item = {0};
	struct flow_packet_walk walk;
	int status = flow_packet_walk_start(&walk, trace, stream, from, end, errata_of(packets));
	int written = 0;

	if (!packets->headed)
		packets_heading(packets);
	packets->headed = true;
	while (status >= 0 && !written && (status = flow_packet_walk_next(&walk, &item)) > 0) {
		show_packet(packets, &item);
		if (++packets->items % CHECK_EVERY == 0)
			written = dump_output_check(packets->run);
	}
	flow_packet_walk_free(&walk);
	return status < 0 ? common_fail_in(status, "stream %" PRIu32, stream) : written;
}

/* Whether the segment that begins at PSB i overlaps --time. The segment ends at the next PSB. */
static bool segment_wanted(const struct packets *packets, const struct ptl_psb *psbs, size_t count, size_t i)
{
	const struct analysis_filter *filter = &packets->options->shared.filter;
	uint64_t last = i + 1 < count ? psbs[i + 1].time : packets->stream->last_time;

	if (last < psbs[i].time)
		last = psbs[i].time;
	return last && psbs[i].time <= filter->last_time && last >= filter->first_time;
}

/* With --time: shows the segments that overlap the time span. */
static int show_segments(struct packets *packets)
{
	const struct ptl_psb *psbs;
	size_t count;
	int status = ptl_psb_index(packets->run->trace, packets->stream->id, &psbs, &count);

	for (size_t i = 0; status >= 0 && i < count;) {
		size_t end = i;

		while (end < count && segment_wanted(packets, psbs, count, end))
			end++;
		if (end > i)
			status = show_range(packets, psbs[i].offset, end < count ? psbs[end].offset : UINT64_MAX);
		i = end > i ? end : i + 1;
	}
	return status;
}

static bool stream_wanted(struct packets *packets, const struct ptl_stream *stream)
{
	const struct analysis_filter *filter = &packets->options->shared.filter;

	if (stream->kind != PTL_KIND_PT || !common_id_set_has(&filter->cpus, stream->cpu))
		return false;
	if (analysis_filter_wants_thread(filter, stream->pid, stream->tid))
		return true;
	packets->left_out += stream->pid == PTL_NO_ID;
	return false;
}

static int show_stream(struct packets *packets, const struct ptl_stream *stream)
{
	const struct analysis_filter *filter = &packets->options->shared.filter;
	int status;

	packets->stream = stream;
	packets->skipped = packets->places = 0;
	packets->headed = false;
	status = common_time_span_given(&filter->span) ? show_segments(packets) : show_range(packets, 0, UINT64_MAX);
	if (status < 0)
		return status;
	if (packets->skipped)
		common_message_warning(
			"stream %" PRIu32 ": %" PRIu64
			" " COMMON_PLURAL("byte", "bytes") " in %" PRIu64
							   " " COMMON_PLURAL("place", "places") " %s no packets",
			stream->id, packets->skipped, packets->places, packets->skipped == 1 ? "is" : "are");
	return 0;
}

static int packets_run(struct dump_run *run)
{
	struct packets packets = {
		.run = run,
		.options = (const struct packets_options *)run->options,
	};
	bool any = false;
	int status = dump_run_check(run);

	for (size_t i = 0; status >= 0 && i < ptl_stream_count(run->trace); i++) {
		const struct ptl_stream *stream = ptl_stream_at(run->trace, i);

		if (!stream_wanted(&packets, stream))
			continue;
		any = true;
		status = show_stream(&packets, stream);
	}
	if (status >= 0 && !any && !packets.left_out)
		dump_run_note_no_flow(run);
	if (status >= 0 && packets.left_out)
		common_message_note("streams of a whole CPU are not shown with --pid, --process or --tid: "
				    "packets do not say whose they are");
	return status;
}

const struct dump_command dump_command_packets = {
	.name = "packets",
	.summary = "the Intel PT packets of each stream",
	.details = "Prints every packet with its offset in the stream (in hexadecimal), addresses "
		   "resolved, and the time of the trace that a TSC stands for. Bytes that are no "
		   "packets and lost bytes are shown in their place; printing goes on at the next "
		   "PSB. Packets that an erratum of the CPU damages are shown, too, and printing goes "
		   "on behind them.",
	.examples = "ptl-dump packets build.ptl | head\n"
		    "ptl-dump packets --pid 4711 --kind tip,fup build.ptl\n"
		    "ptl-dump packets --time 1.5s..2s --json build.ptl",
	.takes = DUMP_TAKES_PROCESS | DUMP_TAKES_CPU | DUMP_TAKES_TIME,
	.options = own_options,
	.options_size = sizeof(struct packets_options),
	.run = packets_run,
};
