/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks for packets of a host, which no machine recorded from within a guest has. */
#include "flow/segment/guest.h"

#include "flow/segment/packet_walk.h"
#include "flow/segment/packets.h"
#include "flow/segment/turn.h"

#define PSBS 64u
#define WALK ((uint64_t)1 << 20)

/* Returns the index of the machine that recorded the stream; 0: the trace's own machine. */
static size_t machine_of(const struct ptl_trace *trace, const struct ptl_stream *stream)
{
	const uint32_t id = stream->cpu != PTL_NO_CPU ? stream->cpu : stream->pid;
	const size_t index = id == PTL_NO_ID ? 0 : id / PTL_MACHINE_IDS;

	return index < ptl_machine_count(trace) && ptl_machine_at(trace, index) ? index : 0;
}

/*
 * Looks for a PIP with a clear NR bit between two offsets of a stream. header: ends the search behind the first PSB+.
 */
static int look_between(struct ptl_trace *trace, uint32_t stream, uint64_t from, uint64_t end, bool header,
			const struct flow_errata *errata, bool *host)
{
	struct flow_packet_walk walk;
	struct flow_packet_item item;
	int status = flow_packet_walk_start(&walk, trace, stream, from, end, *errata);

	while (!status && !*host && (status = flow_packet_walk_next(&walk, &item)) > 0) {
		status = 0;
		if (item.type != FLOW_PACKET_ITEM_PACKET)
			continue;
		*host = item.packet.kind == PTL_PT_PIP && !item.packet.pip.non_root;
		if (header && item.packet.kind == PTL_PT_PSBEND)
			break;
	}
	flow_packet_walk_free(&walk);
	return status;
}

/* Looks at PSB+ of segments over the whole stream, then at the stream's first packets. */
static int look_at_stream(struct ptl_trace *trace, uint32_t stream, const struct flow_errata *errata, bool *host)
{
	const struct ptl_psb *psbs;
	size_t count;
	int status = ptl_psb_index(trace, stream, &psbs, &count);

	if (status < 0 || !count)
		return status;
	for (size_t i = 0; !status && !*host && i < PSBS && i < count; i++) {
		const size_t at = count <= PSBS ? i : (size_t)((uint64_t)i * (count - 1) / (PSBS - 1));

		status = look_between(trace, stream, psbs[at].offset, UINT64_MAX, true, errata, host);
	}
	if (!status && !*host)
		status = look_between(trace, stream, psbs[0].offset, psbs[0].offset + WALK, false, errata, host);
	return status;
}

int flow_guest_has_host(struct ptl_trace *trace, size_t machine, const struct flow_errata *errata, bool *host)
{
	int status = 0;

	*host = false;
	for (size_t i = 0; !status && !*host && i < ptl_stream_count(trace); i++) {
		const struct ptl_stream *stream = ptl_stream_at(trace, i);

		if (stream->kind == PTL_KIND_PT && machine_of(trace, stream) == machine)
			status = look_at_stream(trace, stream->id, errata, host);
	}
	return status;
}

void flow_guest_follow(const struct ptl_pt_packet *packet, const uint8_t *bytes, size_t size,
		       const struct flow_errata *errata, bool *guest)
{
	struct flow_psb_plus psb_plus;

	if (packet->kind == PTL_PT_PIP)
		*guest = packet->pip.non_root;
	if (packet->kind != PTL_PT_PSB)
		return;
	flow_psb_plus_read(bytes, size < FLOW_PSB_PLUS_MAX ? size : FLOW_PSB_PLUS_MAX, errata, &psb_plus);
	if (psb_plus.has_paging)
		*guest = psb_plus.guest;
}

bool flow_guest_is_in_kernel(const uint8_t *bytes, size_t size, const struct flow_errata *errata)
{
	struct ptl_pt_context context = {0};
	struct ptl_pt_packet packet;
	uint64_t last_ip = 0, ip;
	bool guest = false;
	int length;

	for (size_t at = 0; at < size; at += (size_t)length) {
		length = flow_errata_read(errata, bytes + at, size - at, &context, &packet);
		if (length <= 0)
			return false;
		if (packet.kind == PTL_PT_PSB || packet.kind == PTL_PT_OVF)
			last_ip = 0;
		flow_guest_follow(&packet, bytes + at, size - at, errata, &guest);
		if (ptl_pt_ip_resolve(&packet, &last_ip, &ip) && guest && flow_turn_is_kernel(ip))
			return true;
	}
	return false;
}
