/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the packets of virtual CPUs as streams. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/program/interrupt.h"
#include "flow/segment/clock.h"
#include "format/pt/tsc.h"
#include "import/perf/guest_flow.h"
#include "import/perf/import.h"
#include "import/perf/loss.h"

#define FLUSH ((size_t)1 << 20) /* bytes of a stream that wait in memory */
#define REPLAYS 64u             /* packets before stretches may be read as often as this in all */

/* A stream being written. */
struct making {
	struct perf_import *import;
	struct flow_errata errata;
	struct perf_guest_reader *readers; /* by ring; opened at first use */
	struct ptl_bytes bytes;
	uint64_t offset; /* offset of `bytes` in the stream */
	uint32_t stream, cpu;
	struct flow_clock clock;
	uint64_t time;                           /* latest time of the stream */
	const struct perf_guest_stretch *before; /* stretch that has been written; NULL: none */
	uint64_t replays;                        /* bytes before stretches that may still be read */
	bool missing;                            /* packets are missing between `before` and the next stretch */
	bool guest;                              /* the packets being read are of a virtual machine */
	bool corrects; /* the last TSC of the machine was replaced: the next TMA does not fit */
};

static bool tells_time(uint8_t kind)
{
	return kind == PTL_PT_TSC || kind == PTL_PT_TMA || kind == PTL_PT_MTC || kind == PTL_PT_CYC ||
	       kind == PTL_PT_CBR;
}

static void put_bytes(struct making *making, const struct perf_guest_packet *packet)
{
	common_write_bytes(&making->bytes, packet->bytes, packet->packet.size);
}

static void put_packet(struct making *making, const struct ptl_pt_packet *packet)
{
	uint8_t bytes[PTL_PT_PACKET_MAX];
	const int size = ptl_pt_encode(packet, bytes, sizeof(bytes));

	if (size > 0)
		common_write_bytes(&making->bytes, bytes, (size_t)size);
}

static int flush(struct making *making, bool all)
{
	int status;

	if (making->bytes.failed)
		return common_fail_memory("packets", making->bytes.size);
	if (!making->bytes.size || (!all && making->bytes.size < FLUSH))
		return 0;
	status = ptl_writer_bytes(making->import->writer, making->stream, making->bytes.data, making->bytes.size,
				  making->time);
	making->offset += making->bytes.size;
	making->bytes.size = 0;
	return status ? status : common_interrupt_check();
}

static void take_time(struct making *making, const struct ptl_pt_packet *packet)
{
	uint64_t time;

	flow_clock_packet(&making->clock, packet);
	time = flow_clock_time(&making->clock);
	if (time > making->time)
		making->time = time;
}

/* Writes the PSB packet that begins a segment. */
static int put_psb(struct making *making, const struct perf_guest_packet *packet, uint64_t time)
{
	const int status = ptl_writer_psb(making->import->writer, making->stream, making->offset + making->bytes.size,
					  time);

	put_bytes(making, packet);
	return status;
}

/* Writes the state at the beginning of a stretch, in the place of the host's PSB+. */
static void put_state(struct making *making, const struct perf_guest_stretch *stretch)
{
	const struct ptl_pt_packet paging = {.kind = PTL_PT_PIP, .pip = {stretch->cr3, 1}};
	const struct ptl_pt_packet vmcs = {.kind = PTL_PT_VMCS, .vmcs = {stretch->vmcs}};

	if (stretch->mode.size)
		put_packet(making, &stretch->mode);
	put_packet(making, &paging);
	if (stretch->vmcs)
		put_packet(making, &vmcs);
}

/* Goes to a packet of the stretch's ring. */
static int go_to(struct making *making, const struct perf_guest_stretch *stretch, uint64_t position, uint64_t last_ip,
		 struct perf_guest_reader **reader)
{
	*reader = &making->readers[stretch->ring];
	if (!(*reader)->window) {
		const int status = perf_guest_reader_open(*reader, &making->import->guest_flow.rings[stretch->ring],
							  &making->errata);

		if (status)
			return status;
	}
	perf_guest_reader_go(*reader, position, last_ip);
	return 0;
}

/* Returns the TSC at a time. */
static uint64_t tsc_at(const struct ptl_machine *machine, uint64_t time)
{
	const __uint128_t ticks = (__uint128_t)(time - machine->tsc_zero) << (machine->tsc_shift & 63);

	return machine->tsc_multiplier ? (uint64_t)(ticks / machine->tsc_multiplier) : 0;
}

/* Writes a TSC packet of the host at a time; nothing if the time is unknown. */
static void put_tsc(struct making *making, uint64_t time)
{
	struct ptl_pt_packet tsc = {.kind = PTL_PT_TSC};

	if (!time)
		return;
	tsc.tsc.tsc = tsc_at(&making->import->machine, time) & (FORMAT_TSC_RANGE - 1);
	put_packet(making, &tsc);
	take_time(making, &tsc);
}

/*
 * Writes a timing packet. A TSC of a machine that is not the host's TSC is replaced by a TSC of the time `instead`; 0: the
 * TSC is left out.
 */
static void put_time(struct making *making, const struct perf_guest_packet *packet, uint64_t instead)
{
	const uint8_t kind = packet->packet.kind;

	if (kind == PTL_PT_TSC) {
		making->corrects = making->guest && !perf_guest_flow_is_timed(making->import, &packet->packet,
									      flow_clock_time(&making->clock));
		if (making->corrects) {
			put_tsc(making, instead);
			return;
		}
	}
	if (kind == PTL_PT_TMA && making->corrects)
		return;
	put_bytes(making, packet);
	take_time(making, &packet->packet);
}

/* Writes a packet before a stretch: PSB+ without an address, and the times of the host. */
static int put_before(struct making *making, const struct perf_guest_stretch *stretch,
		      const struct perf_guest_reader *reader, const struct perf_guest_packet *packet)
{
	struct flow_psb_plus psb_plus;

	switch (packet->packet.kind) {
	case PTL_PT_PSB:
		perf_guest_reader_psb_plus(reader, &psb_plus);
		making->guest = psb_plus.guest;
		return put_psb(making, packet, stretch->time);
	case PTL_PT_PIP:
		making->guest = packet->packet.pip.non_root;
		return 0;
	case PTL_PT_PSBEND:
		put_state(making, stretch);
		put_bytes(making, packet);
		return 0;
	default:
		if (tells_time(packet->packet.kind))
			put_time(making, packet, 0);
		return 0;
	}
}

/* Writes the packets from a place, which is outside of virtual machines or a PSB, up to a stretch. */
static int put_packets_before(struct making *making, const struct perf_guest_stretch *stretch, uint64_t from)
{
	struct perf_guest_reader *reader;
	struct perf_guest_packet packet;
	int status = go_to(making, stretch, from, 0, &reader);

	making->guest = making->corrects = false;
	while (!status && reader->position < stretch->begin && (status = perf_guest_reader_next(reader, &packet)) > 0)
		status = packet.position < stretch->begin ? put_before(making, stretch, reader, &packet) : 0;
	return status;
}

/*
 * Writes the packet that begins a stretch as TIP.PGE with the full address. The stretch's time comes before, if the stream
 * has no time of the host yet.
 */
static void put_enable(struct making *making, const struct perf_guest_stretch *stretch,
		       const struct perf_guest_packet *packet)
{
	struct ptl_pt_packet enable = {.kind = PTL_PT_TIP_PGE};

	if (!flow_clock_time(&making->clock))
		put_tsc(making, stretch->time);
	enable.ip.form = PTL_PT_IP_FULL;
	enable.ip.payload = packet->ip;
	put_packet(making, &enable);
}

/* Copies the packets of a stretch. */
static int put_packets(struct making *making, const struct perf_guest_stretch *stretch)
{
	struct perf_guest_reader *reader;
	struct perf_guest_packet packet;
	int status = go_to(making, stretch, stretch->begin, stretch->last_ip, &reader);

	making->guest = true;
	making->corrects = false;
	while (!status && reader->position < stretch->end && (status = perf_guest_reader_next(reader, &packet)) > 0) {
		if (packet.position >= stretch->end)
			return 0;
		status = 0;
		if (packet.packet.kind == PTL_PT_PSB)
			status = put_psb(making, &packet, making->time ? making->time : stretch->time);
		else if (packet.position == stretch->begin && packet.has_ip)
			put_enable(making, stretch, &packet);
		else if (tells_time(packet.packet.kind))
			put_time(making, &packet,
				 flow_clock_time(&making->clock) ? flow_clock_time(&making->clock) : making->time);
		else
			put_bytes(making, &packet);
		if (!status)
			status = flush(making, false);
	}
	return status;
}

/* Ends a stretch: packets are disabled, or missing. */
static void put_end(struct making *making, const struct perf_guest_stretch *stretch)
{
	const struct ptl_pt_packet disable = {.kind = PTL_PT_TIP_PGD};

	making->missing = !stretch->exits;
	if (stretch->exits)
		put_packet(making, &disable);
}

/* Writes a hole for missing packets. */
static int put_hole(struct making *making)
{
	int status = flush(making, true);

	if (!status)
		status = ptl_writer_hole(making->import->writer, making->stream, 1, making->time);
	making->offset++;
	making->missing = false;
	return status;
}

/* Checks whether a stretch continues the last written segment. */
static bool continues(const struct perf_guest_stretch *before, const struct perf_guest_stretch *stretch)
{
	return before && before->exits && before->ring == stretch->ring && before->end <= stretch->begin &&
	       (stretch->psb == before->psb || (stretch->psb >= before->begin && stretch->psb < before->end));
}

/*
 * Whether the packets from a place up to the stretch may be read. Virtual CPUs that change their CPU often, or are many on
 * a CPU, in segments that no host makes so large, would take forever.
 */
static bool may_read(struct making *making, const struct perf_guest_stretch *stretch, uint64_t from)
{
	const uint64_t size = stretch->begin - from;

	if (size > making->replays)
		return false;
	making->replays -= size;
	return true;
}

static int put_stretch(struct making *making, const struct perf_guest_stretch *stretch)
{
	const bool goes_on = continues(making->before, stretch);
	const uint64_t from = goes_on ? making->before->end : stretch->psb;
	int status;

	if (!may_read(making, stretch, from)) {
		making->import->guest_flow.unknown++;
		making->missing = true;
		making->before = NULL;
		return 0;
	}
	status = making->missing ? put_hole(making) : 0;
	if (stretch->time > making->time)
		making->time = stretch->time;
	if (!goes_on)
		flow_clock_start(&making->clock, &making->import->machine);
	if (!status)
		status = put_packets_before(making, stretch, from);
	if (!status)
		status = put_packets(making, stretch);
	put_end(making, stretch);
	making->before = stretch;
	return status;
}

/* Begins the stream of a virtual CPU, and ends the previous stream. */
static int begin_stream(struct making *making, uint32_t cpu)
{
	struct ptl_stream stream = {.kind = PTL_KIND_PT, .cpu = cpu, .pid = PTL_NO_ID, .tid = PTL_NO_ID};
	int status = flush(making, true);

	if (!status)
		status = ptl_writer_stream(making->import->writer, &stream);
	making->stream = stream.id;
	making->cpu = cpu;
	making->offset = making->time = 0;
	making->before = NULL;
	making->missing = false;
	return status;
}

/* Writes a loss for packets whose virtual CPU is unknown. */
static int lose_unknown(struct perf_import *import)
{
	return perf_lose(import->writer, PTL_LOSS_BYTES, import->guest_flow.unknown, import->machine.start_time,
			 "of virtual machines, on threads of which perf.data tells no virtual CPU, or in segments that "
			 "are too large");
}

int perf_guest_flow_write(struct perf_import *import)
{
	const struct perf_guest_flow *flow = &import->guest_flow;
	struct making making = {
		.import = import, .errata = flow_errata_of(&import->machine), .cpu = PTL_NO_CPU, .stream = PTL_NO_ID};
	int status = 0;

	making.readers = calloc(flow->ring_count + 1, sizeof(*making.readers));
	if (!making.readers)
		return common_fail_memory("rings", flow->ring_count * sizeof(*making.readers));
	for (size_t i = 0; i < flow->ring_count; i++)
		for (size_t j = 0; j < flow->rings[i].count; j++)
			making.replays += REPLAYS * flow->rings[i].pieces[j].size;
	for (size_t i = 0; !status && i < flow->stretch_count; i++) {
		const uint32_t cpu = flow->stretches[i].cpu;

		if (cpu != making.cpu)
			status = begin_stream(&making, cpu);
		if (!status)
			status = put_stretch(&making, &flow->stretches[i]);
	}
	if (!status)
		status = flush(&making, true);
	for (size_t i = 0; i < flow->ring_count; i++)
		perf_guest_reader_close(&making.readers[i]);
	free(making.readers);
	common_bytes_free(&making.bytes);
	return status ? status : lose_unknown(import);
}
