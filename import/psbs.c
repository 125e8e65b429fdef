/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads PSB+ for the times of PSBs. */
#include "import/psbs.h"

#include <string.h>

#include <ptl/pt.h>

#include "flow/segment/guest.h"
#include "flow/segment/packets.h"
#include "format/pt/packet.h"
#include "format/pt/tsc.h"

/* maximum nanoseconds from a time of the host to a guest's PSB without an offset */
#define WITHIN 1000000000u

static uint64_t time_of(const struct ptl_machine *machine, uint64_t tsc)
{
	return format_tsc_time(machine, format_tsc_extend(format_tsc_lowest(machine), tsc));
}

/* Returns the time of the first TSC packet outside of guests. 0: the bytes, which begin with a PSB, have no such packet. */
static uint64_t find_host_time(const struct ptl_machine *machine, const struct flow_errata *errata, const uint8_t *data,
			       size_t size)
{
	struct ptl_pt_context context = {0};
	struct ptl_pt_packet packet;
	bool guest = true;
	int length;

	for (size_t at = 0; at < size; at += (size_t)length) {
		length = flow_errata_read(errata, data + at, size - at, &context, &packet);
		if (length <= 0)
			return 0;
		flow_guest_follow(&packet, data + at, size - at, errata, &guest);
		if (packet.kind == PTL_PT_TSC && !guest)
			return time_of(machine, packet.tsc.tsc);
	}
	return 0;
}

/*
 * Returns the host's time of a PSB in a guest; 0: unknown. The guest's TSC has an offset, unless perf inject has corrected
 * the packets or the recorder ran in the guest. time: by the guest's TSC. next: result of find_host_time.
 */
static uint64_t guest_time(const struct import_psb_clock *clock, const struct import_psb_past *past, uint64_t time,
			   uint64_t next)
{
	if (next)
		return next - time <= WITHIN ? time : next;
	if (*clock->host && past->time)
		return time - past->time <= WITHIN ? time : 0;
	return time + WITHIN >= clock->earliest && (!clock->latest || time <= clock->latest) ? time : 0;
}

/* As import_psb_time, for a PSB+ that has been read. */
static uint64_t psb_plus_time(const struct import_psb_clock *clock, struct import_psb_past *past,
			      const struct flow_errata *errata, const struct flow_psb_plus *psb_plus,
			      const uint8_t *data, size_t size)
{
	uint64_t time = psb_plus->has_tsc ? time_of(clock->machine, psb_plus->tsc) : 0;

	*clock->host |= psb_plus->has_paging && !psb_plus->guest;
	if (time && psb_plus->has_paging && psb_plus->guest) {
		const bool searches = !past->time && !past->searched;
		const uint64_t next = searches ? find_host_time(clock->machine, errata, data, size) : 0;

		past->searched |= searches && !next;
		*clock->host |= next != 0;
		time = guest_time(clock, past, time, next);
	}
	if (time)
		past->time = time;
	return time;
}

uint64_t import_psb_time(const struct import_psb_clock *clock, struct import_psb_past *past, const uint8_t *data,
			 size_t size)
{
	const struct flow_errata errata = flow_errata_of(clock->machine);
	struct flow_psb_plus psb_plus;

	flow_psb_plus_read(data, size < FLOW_PSB_PLUS_MAX ? size : FLOW_PSB_PLUS_MAX, &errata, &psb_plus);
	return psb_plus_time(clock, past, &errata, &psb_plus, data, size);
}

/* A search in a piece. */
struct search {
	struct import_psbs *psbs;
	const struct import_psb_clock *clock;
	const uint8_t *data;
	uint64_t start; /* offset of the piece in the stream */
	size_t size;
	import_psb_found found;
	void *context;
};

/*
 * Gives the PSB at data. last: no more bytes of the PSB+ arrive. Sets *cut instead if the PSB+ may continue behind the bytes.
 */
static int give_psb(const struct search *search, uint64_t offset, const uint8_t *data, size_t size, bool last,
		    bool *cut)
{
	struct import_psbs *psbs = search->psbs;
	const struct flow_errata errata = flow_errata_of(search->clock->machine);
	struct flow_psb_plus psb_plus;
	uint64_t time;

	flow_psb_plus_read(data, size < FLOW_PSB_PLUS_MAX ? size : FLOW_PSB_PLUS_MAX, &errata, &psb_plus);
	*cut = psb_plus.cut && size < FLOW_PSB_PLUS_MAX && !last;
	if (*cut)
		return 0;
	psbs->has_tsc |= psb_plus.has_tsc;
	time = psb_plus_time(search->clock, &psbs->past, &errata, &psb_plus, data, size);
	if (!time)
		time = psbs->past.time ? psbs->past.time : search->clock->now;
	return search->found(search->context, offset, time);
}

/* Gives the PSB that the previous piece began. */
static int give_held(const struct search *search, bool last)
{
	struct import_psbs *psbs = search->psbs;

	if (!psbs->held)
		return 0;
	psbs->held = false;
	return give_psb(search, psbs->offset, psbs->bytes, psbs->size, last, &psbs->held);
}

/* Appends the bytes of the piece that follow the held bytes. */
static void fill_held(const struct search *search)
{
	struct import_psbs *psbs = search->psbs;
	const size_t at = (size_t)(psbs->offset + psbs->size - search->start);
	const size_t room = sizeof(psbs->bytes) - psbs->size;
	const size_t left = search->size - at;

	if (left)
		memcpy(psbs->bytes + psbs->size, search->data + at, left < room ? left : room);
	psbs->size += left < room ? left : room;
}

static int hold_psb(const struct search *search, uint64_t offset)
{
	static const struct ptl_pt_packet psb = {.kind = PTL_PT_PSB};
	struct import_psbs *psbs = search->psbs;

	psbs->held = true;
	psbs->offset = offset;
	psbs->size = (size_t)ptl_pt_encode(&psb, psbs->bytes, sizeof(psbs->bytes));
	/* The scan passes the first byte of the pattern behind the PSB, too. */
	if (offset + psbs->size < search->start)
		psbs->bytes[psbs->size++] = FORMAT_PT_MATCH_PSB & 0xff;
	fill_held(search);
	return give_held(search, false);
}

static int found_psb(void *context, uint64_t offset)
{
	const struct search *search = context;
	bool cut = true;
	int status = give_held(search, true);

	if (!status && offset >= search->start) {
		const size_t at = (size_t)(offset - search->start);

		status = give_psb(search, offset, search->data + at, search->size - at, false, &cut);
	}
	/* A PSB ends in the piece or right before the piece. */
	return status || !cut ? status : hold_psb(search, offset);
}

int import_psbs_bytes(struct import_psbs *psbs, const struct import_psb_clock *clock, const uint8_t *data, size_t size,
		      import_psb_found found, void *context)
{
	struct search search = {psbs, clock, data, psbs->scan.offset, size, found, context};
	int status = 0;

	psbs->past.searched = false;
	if (psbs->held) {
		fill_held(&search);
		status = give_held(&search, false);
	}
	return status ? status : format_pt_psb_scan(&psbs->scan, data, size, found_psb, &search);
}

int import_psbs_end(struct import_psbs *psbs, const struct import_psb_clock *clock, import_psb_found found,
		    void *context)
{
	struct search search = {psbs, clock, NULL, psbs->scan.offset, 0, found, context};
	int status = format_pt_psb_scan_end(&psbs->scan, found_psb, &search);

	return status ? status : give_held(&search, true);
}

void import_psbs_hole(struct import_psbs *psbs, uint64_t size)
{
	psbs->scan = (struct format_pt_psb_scan){.offset = psbs->scan.offset + size, .found = psbs->scan.found};
	psbs->past = (struct import_psb_past){0};
}
