/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reference engine: libipt's decoders, segment by segment.
 *
 * A segment's flow ends at the beginning of the next segment. libipt alone would walk on from the last packet to the
 * next branch that needs a packet, beyond the segment's end. So the engine appends a FUP with the next segment's
 * address, and a TIP.PGD, as if an interrupt had disabled packets there. The resulting event is dropped. If the next
 * segment is unknown, the flow ends with the last instruction that the packets prove.
 */
#include "flow/libipt/engine.h"

#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/vector.h"
#include "flow/code/code_change.h"
#include "flow/libipt/newer.h"
#include "flow/segment/packets.h"
#include "flow/segment/turn.h"
#include "format/pt/packet.h"

#define FIRST_CAPACITY ((size_t)64 << 10)
/* maximum bytes added to a segment: MODE.Exec in front, FUP and TIP.PGD behind */
#define ADDED_MAX 16

/* ---- the buffer --------------------------------------------------------------------------------- */

/* Sets PTL's errata of the CPU, because libipt's table may be older. */
static void set_errata(const struct flow_errata *errata, struct pt_config *config)
{
	config->errata = (struct pt_errata){
		.bdm64 = errata->bdm64,
		.bdm70 = 1,
		.skd007 = errata->skd007,
		.skd010 = errata->skd010,
		.skd022 = errata->skd022,
		.skl014 = errata->skl014,
		.skl168 = errata->skl168,
		.apl11 = errata->apl11,
		.apl12 = errata->apl12,
		.skz84 = errata->skz84,
	};
}

/* Sets the filters. libipt's numbers of actions: 1 filters, 2 stops. */
static void set_filters(const struct libipt_engine *engine, struct pt_config *config)
{
	uint64_t *const first = &config->addr_filter.addr0_a; /* a, b, a, b, ... */

	_Static_assert(offsetof(struct pt_conf_addr_filter, addr3_b) ==
			       offsetof(struct pt_conf_addr_filter, addr0_a) + 7 * sizeof(uint64_t),
		       "eight bounds in a row");
	for (unsigned i = 0; i < engine->filter_count; i++) {
		config->addr_filter.config.addr_cfg |= (engine->filters[i].stop ? 2ull : 1ull) << 4 * i;
		first[2 * i] = engine->filters[i].first;
		first[2 * i + 1] = engine->filters[i].last;
	}
}

static int make_decoder(struct libipt_engine *engine, size_t size)
{
	const struct ptl_machine *machine = engine->machine;
	struct pt_config config;

	if (engine->decoder)
		engine->class->free(engine->decoder);
	engine->decoder = NULL;
	if (COMMON_VECTOR_RESERVE(engine->buffer, engine->capacity, size < FIRST_CAPACITY ? FIRST_CAPACITY : size,
				  "segment"))
		return PTL_NO_MEMORY;

	pt_config_init(&config);
	config.begin = engine->buffer;
	config.end = engine->buffer + engine->capacity;
	set_errata(&engine->errata, &config);
	set_filters(engine, &config);
	engine->filters_changed = false;
	config.cpuid_0x15_eax = machine->ctc_denominator;
	config.cpuid_0x15_ebx = machine->ctc_numerator;
	config.mtc_freq = machine->mtc_frequency;
	config.nom_freq = machine->nominal_ratio;
	if (engine->class->configure)
		engine->class->configure(&config);
	engine->decoder = engine->class->alloc(&config);
	if (!engine->decoder)
		return common_fail_memory("libipt decoder", 0);
	if (engine->image)
		engine->class->set_image(engine->decoder, engine->image);
	return 0;
}

/* Writes a FUP with a full address, and a TIP.PGD without an address. */
static size_t write_closing(uint8_t *tail, bool fup, uint64_t ip)
{
	size_t size = 0;

	if (fup) {
		tail[size++] = FORMAT_PT_MATCH_FUP | PTL_PT_IP_FULL << FORMAT_PT_IP_SHIFT;
		common_store64(tail + size, ip);
		size += 8;
	}
	tail[size++] = FORMAT_PT_MATCH_TIP_PGD;
	return size;
}

/* Writes a MODE.Exec with the mode from the trace's header, for packets without a mode. */
static size_t write_mode(uint8_t *front, uint8_t mode)
{
	if (mode != 64 && mode != 32 && mode != 16)
		return 0;
	front[0] = FORMAT_PT_MATCH_MODE_EXEC & 0xff;
	front[1] = mode == 64 ? FORMAT_PT_MODE_EXEC_L : mode == 32 ? FORMAT_PT_MODE_EXEC_D : 0;
	return 2;
}

/* Puts the segment and the added packets at the end of the buffer. */
static int place_segment(struct libipt_engine *engine)
{
	const struct flow_engine_input *input = engine->input;
	uint8_t front[2], tail[ADDED_MAX], *at;
	size_t size = input->size, front_size = 0, tail_size = 0, total;
	struct flow_psb_plus psb_plus;
	struct flow_segment_end end;
	bool ignores_resume;

	flow_segment_end_read(input->bytes, size, &engine->errata, &end);
	/* If a packet is cut off, the next segment tells nothing about the flow behind this packet. */
	engine->has_next = input->has_next && end.whole == size;
	/* APL12: libipt does not see the next segment's PSB+, which shows that packets are disabled. */
	ignores_resume = engine->errata.apl12 && end.resume && engine->has_next && !input->next_ip_known;
	engine->overflowed = end.overflowed || ignores_resume;
	engine->whole = end.whole;
	engine->torn = engine->has_next && end.enabled && end.fup;
	/* While packets are disabled, libipt does not walk. */
	if (!engine->has_next || engine->torn)
		size = end.enabled || end.overflowed ? end.flow : end.whole;
	engine->given = size;
	/*
	 * A FUP behind an open overflow would end the overflow, and the following flow would belong to this segment.
	 * While packets are disabled, there is no flow to end.
	 */
	if (engine->torn || (!engine->has_next && end.fup))
		tail_size = write_closing(tail, false, 0);
	else if (engine->has_next && input->next_ip_known && end.enabled)
		tail_size = write_closing(tail, true, input->next_ip);
	flow_psb_plus_read(input->bytes, size, &engine->errata, &psb_plus);
	engine->enabled = psb_plus.has_ip;
	if (size >= PTL_PT_PSB_SIZE && (psb_plus.complete || psb_plus.overflow) && !psb_plus.has_mode)
		front_size = write_mode(front, engine->machine->mode);
	total = size + front_size + tail_size;
	if (!engine->decoder || engine->filters_changed || total > engine->capacity) {
		int status = make_decoder(engine, total);

		if (status < 0)
			return status;
	}
	engine->closed = tail_size != 0;
	engine->inserted = front_size;
	engine->start = engine->capacity - total;
	at = engine->buffer + engine->start;
	if (front_size) {
		memcpy(at, input->bytes, PTL_PT_PSB_SIZE);
		memcpy(at + PTL_PT_PSB_SIZE, front, front_size);
		memcpy(at + PTL_PT_PSB_SIZE + front_size, input->bytes + PTL_PT_PSB_SIZE, size - PTL_PT_PSB_SIZE);
	} else {
		memcpy(at, input->bytes, size);
	}
	if (ignores_resume)
		memset(at + front_size + end.resume, FORMAT_PT_MATCH_PAD, end.resume_end - end.resume);
	memcpy(engine->buffer + engine->capacity - tail_size, tail, tail_size);
	libipt_newer_mark(&engine->errata, at, total);
	return 0;
}

/* Returns the decoder's place as an offset in the segment, from 0 to the segment's size. */
static uint64_t segment_offset(struct libipt_engine *engine)
{
	uint64_t offset;

	if (engine->class->offset(engine->decoder, &offset) < 0 || offset < engine->start)
		return 0;
	offset -= engine->start;
	if (offset >= PTL_PT_PSB_SIZE + engine->inserted)
		offset -= engine->inserted;
	return offset < engine->input->size ? offset : engine->input->size;
}

/* ---- flow -------------------------------------------------------------------------------- */

/* Adds a gap: the bytes of the segment from offset on are not decoded. */
static int add_gap_at(struct libipt_engine *engine, enum flow_gap_cause cause, uint64_t offset, uint64_t address)
{
	struct flow_event event = {
		.kind = FLOW_GAP,
		.cause = cause,
		.flags = address || cause == FLOW_GAP_CODE ? FLOW_EVENT_HAS_FROM : 0,
		.time = engine->builder.mark.time,
		.offset = engine->input->segment->offset + offset,
		.from = address,
		.size = engine->input->size - offset,
	};

	return flow_event(&engine->builder, &event);
}

static int add_gap(struct libipt_engine *engine, enum flow_gap_cause cause, uint64_t address)
{
	return add_gap_at(engine, cause, segment_offset(engine), address);
}

static enum flow_gap_cause gap_cause(int error)
{
	switch (-error) {
	case pte_nomap:
		return FLOW_GAP_CODE;
	case pte_bad_opc:
	case pte_bad_packet:
	case pte_nosync:
	/* libipt's event queue is full: no CPU makes packets with so many consecutive events. */
	case pte_nomem:
		return FLOW_GAP_PACKET;
	default:
		return FLOW_GAP_MISMATCH;
	}
}

/* Returns the trace time at the walk's place: the time of the last timing packet, or the PSB's time. */
static uint64_t current_time(struct libipt_engine *engine)
{
	uint64_t tsc, time = 0;

	/* libipt 2.1 returns 0 before the first packet with a time. */
	if (engine->class->time(engine->decoder, &tsc) >= 0 && tsc)
		time = libipt_time(engine->machine, tsc);
	return time ? time : engine->input->segment->time;
}

/* Selects the code by the packets' time, if no segment begins at a change of the code: see flow/native/engine.c. */
static int follow_time(struct libipt_engine *engine)
{
	const bool software = engine->machine->software;
	const uint64_t until = software ? engine->version.until_injected : engine->version.until;
	struct flow_version version;
	uint64_t time;

	if (until == FLOW_TIME_END)
		return 0;
	time = libipt_code_time(engine, segment_offset(engine));
	if (time < until)
		return 0;
	flow_timeline_version(flow_code_timeline(engine->code), engine->process, time, &version);
	if (!software || flow_code_keeps(engine->code, engine->version.root, version.root))
		return libipt_code_select(engine, time);
	engine->version.until_injected = version.until_injected;
	return 0;
}

/* When flow leaves the kernel, gives out all earlier flow, so that the process of the following code can be found. */
static int leave_kernel(struct libipt_engine *engine)
{
	const struct flow_engine_input *input = engine->input;
	uint32_t process;
	int status;

	if (!input->process || !engine->leaves_kernel)
		return 0;
	engine->leaves_kernel = false;
	status = flow_end(&engine->builder);
	if (status)
		return status;
	process = input->process(input->process_context, current_time(engine));
	if (process == engine->process)
		return 0;
	engine->process = process;
	return libipt_code_select(engine, current_time(engine));
}

/*
 * Detects an endless walk: libipt reaches an address twice, without any packet in between. A program may do so, but no
 * packet shows the number of rounds, so the flow is unknown. The remembered address is replaced at each power of two of
 * steps, so a round of any length is found.
 */
static void note_step(struct libipt_engine *engine, uint64_t ip)
{
	uint8_t branch = engine->builder.last_branch;

	if (branch != FLOW_BRANCH_NONE && branch != FLOW_BRANCH_JUMP && branch != FLOW_BRANCH_CALL) {
		engine->steps = 0;
		return;
	}
	if (engine->steps && ip == engine->remembered)
		engine->endless = true;
	if (!(engine->steps & (engine->steps - 1)))
		engine->remembered = ip;
	engine->steps++;
}

int libipt_run(struct libipt_engine *engine, uint64_t ip, uint64_t last_ip, uint32_t count, enum pt_exec_mode mode,
	       bool speculative)
{
	uint8_t bits = mode == ptem_64bit ? 64 : mode == ptem_32bit ? 32 : 16;
	int status;

	flow_state(&engine->builder, current_time(engine), speculative);
	status = flow_builder_run(&engine->builder, ip, last_ip, count, bits);
	libipt_code_time_branch(engine, engine->builder.last_branch);
	engine->stepped = true;
	engine->mode_known = false;
	engine->leaves_kernel = engine->builder.last_branch == FLOW_BRANCH_FAR_RETURN && flow_turn_is_kernel(ip);
	if (!status)
		note_step(engine, ip);
	return status;
}

/* Checks whether the event was made by the appended FUP and TIP.PGD, and not by the trace. */
static bool is_closing(struct libipt_engine *engine, const struct pt_event *event)
{
	uint64_t offset;

	return engine->closed && event->type == ptev_async_disabled &&
	       engine->class->offset(engine->decoder, &offset) >= 0 && offset == engine->capacity;
}

/* Records whether packets are enabled. */
static void note_event(struct libipt_engine *engine, const struct flow_event *event)
{
	if (event->kind == FLOW_ENABLED)
		engine->enabled = true;
	else if (event->kind == FLOW_DISABLED || event->kind == FLOW_ASYNC_DISABLED)
		engine->enabled = false;
	else if (event->cause == FLOW_GAP_OVERFLOW)
		engine->enabled = event->flags & FLOW_EVENT_HAS_TO;
}

/* Takes one PTL event, made from `from` at an offset of the segment. Returns 0, or a negative status. */
static int libipt_take_event(struct libipt_engine *engine, uint64_t offset, const struct pt_event *from,
			     struct flow_event *event)
{
	int failure;

	event->offset = engine->input->segment->offset + segment_offset(engine);
	event->time = engine->input->segment->time;
	if (from->has_tsc && libipt_time(engine->machine, from->tsc))
		event->time = libipt_time(engine->machine, from->tsc);
	note_event(engine, event);
	libipt_code_time_event(engine, event->kind);
	engine->steps = 0;
	if (event->flags & FLOW_EVENT_HAS_TO)
		engine->leaves_kernel = !flow_turn_is_kernel(event->to);
	failure = libipt_part_event(engine, offset, event);
	return failure ? failure : flow_event(&engine->builder, event);
}

/* Checks whether flow continues in a guest whose code is not in the trace. Returns 1, 0, or a negative status. */
static int enters_guest(struct libipt_engine *engine, const struct pt_event *event)
{
	const struct flow_engine_input *input = engine->input;
	const bool non_root = (event->type == ptev_paging && event->variant.paging.non_root) ||
			      (event->type == ptev_async_paging && event->variant.async_paging.non_root);
	int guest;

	if (!non_root || !input->has_guests || engine->asked_guests)
		return 0;
	engine->asked_guests = true;
	guest = input->has_guests(input->guests_context, input);
	return guest < 0 ? guest : guest == FLOW_GUEST_APART;
}

/* Takes all pending events, up to an event that leads into a guest. Returns libipt's status. */
static int take_events(struct libipt_engine *engine, int status, int *failure)
{
	while (status >= 0 && (status & pts_event_pending) && !engine->in_guest) {
		struct flow_event events[LIBIPT_EVENTS_MAX];
		struct pt_event from;
		size_t count;
		int guest;
		/* offset of the event; the call below reads ahead to the next event */
		const uint64_t offset = segment_offset(engine);

		status = engine->class->event(engine->decoder, &from);
		if (status < 0)
			return status;
		if (is_closing(engine, &from)) {
			engine->reached = true;
			return pts_eos;
		}
		guest = enters_guest(engine, &from);
		if (guest < 0)
			*failure = guest;
		engine->in_guest = guest > 0;
		if (!libipt_newer_event(engine, &from))
			continue;
		count = libipt_newer_translate(&from, events);
		if (!count)
			count = libipt_event_translate(&from, events);
		for (size_t i = 0; i < count && !*failure; i++)
			*failure = libipt_take_event(engine, offset, &from, &events[i]);
		if (*failure)
			return status;
	}
	return status;
}

/* Adds the events of the packets behind the last packet of flow, which libipt did not get. */
static int take_rest(struct libipt_engine *engine)
{
	const struct flow_engine_input *input = engine->input;
	struct ptl_pt_context context = {0};
	struct flow_event event;
	struct ptl_pt_packet packet;
	size_t at = engine->given;
	int status = 0, length;

	while (!status && at < engine->whole &&
	       (length = flow_errata_read(&engine->errata, input->bytes + at, engine->whole - at, &context, &packet)) >
		       0) {
		if (libipt_packet_translate(&packet, &event)) {
			event.offset = input->segment->offset + at;
			event.time = current_time(engine);
			status = flow_event(&engine->builder, &event);
		}
		at += (size_t)length;
	}
	return status;
}

/*
 * Checks whether the packets end before the TIP of the last branch. If TNT bits or events wait for such a TIP, libipt
 * 2.1 reports a mismatch, but libipt 2.0 reports the end.
 */
static bool ends_before_tip(struct libipt_engine *engine, int status)
{
	switch (engine->builder.last_branch) {
	case FLOW_BRANCH_NONE:
	case FLOW_BRANCH_CONDITIONAL:
	case FLOW_BRANCH_JUMP:
	case FLOW_BRANCH_CALL:
		return false;
	default:
		return libipt_newer() && !engine->closed && status == -pte_bad_query && libipt_newer_is_at_end(engine);
	}
}

/* Ends the walk, and reports missing flow. status: libipt's reason for the end. */
static int finish_walk(struct libipt_engine *engine, int status, uint64_t address)
{
	const struct flow_engine_input *input = engine->input;
	int failure;

	if (status < 0 && status != -pte_eos && !ends_before_tip(engine, status))
		return add_gap(engine, gap_cause(status), address);
	/* The end of the packets is the end of the flow, unless the next segment contradicts. */
	if (engine->has_next && !engine->overflowed && (engine->closed ? !engine->reached : engine->enabled))
		return add_gap(engine, FLOW_GAP_MISMATCH, address);
	/* Packets are disabled here, and enabled at the next PSB, but the TIP.PGE in between is missing. */
	if (engine->has_next && !engine->overflowed && !engine->closed && input->next_ip_known)
		return add_gap(engine, FLOW_GAP_MISMATCH, 0);
	failure = take_rest(engine);
	/* A FUP with a missing TIP ends the known flow, wherever the next segment begins. */
	if (!failure && engine->torn)
		return add_gap(engine, FLOW_GAP_PACKET, 0);
	/* A packet that is cut off proves nothing. */
	if (!failure && engine->whole < input->size)
		return add_gap_at(engine, FLOW_GAP_PACKET, engine->whole, 0);
	return failure;
}

/*
 * Walks to the end of the packets. Without a known end, libipt's status "end of stream" comes with the block that uses
 * the last packet. That block is the last proven block.
 */
static int walk_packets(struct libipt_engine *engine)
{
	uint64_t address = 0;
	int failure = 0;
	int status = engine->class->sync(engine->decoder, engine->start);

	for (;;) {
		status = take_events(engine, status, &failure);
		if (engine->in_guest && !failure)
			return add_gap(engine, FLOW_GAP_GUEST, 0);
		if (failure || status < 0 || (status & pts_eos))
			break;
		engine->stepped = false;
		failure = follow_time(engine);
		if (!failure)
			failure = leave_kernel(engine);
		if (failure)
			break;
		status = engine->class->step(engine, &address, &failure);
		if (failure == PTL_CORRUPT) {
			/* libipt walked instructions that the code does not have. */
			return add_gap(engine, FLOW_GAP_MISMATCH, address);
		}
		if (failure || status < 0)
			break;
		if (engine->endless)
			return add_gap(engine, FLOW_GAP_MISMATCH, address);
		if (!engine->stepped && !(status & pts_event_pending))
			break;
		if (engine->closed && !(status & pts_event_pending))
			status &= ~pts_eos;
	}
	return failure ? failure : finish_walk(engine, status, address);
}

int libipt_decode_bytes(struct libipt_engine *engine, const struct flow_engine_input *input)
{
	int status;

	engine->input = input;
	libipt_code_time_start(engine);
	engine->enables = 0;
	engine->enables_context = (struct ptl_pt_context){0};
	engine->next_enables = 0;
	engine->steps = 0;
	engine->in_guest = engine->asked_guests = engine->endless = engine->reached = engine->leaves_kernel =
		engine->mode_known = false;
	flow_state(&engine->builder, input->segment->time, false);
	status = place_segment(engine);
	if (!status)
		status = walk_packets(engine);
	return status < 0 ? status : flow_end(&engine->builder);
}

int libipt_open(const struct libipt_decoder *class, struct flow_code *code, const struct ptl_machine *machine,
		struct flow_engine **engine)
{
	struct libipt_engine *opened = calloc(1, sizeof(*opened));
	int status;

	if (!opened)
		return common_fail_memory("libipt engine", sizeof(*opened));
	opened->class = class;
	opened->code = code;
	opened->machine = machine;
	opened->errata = flow_errata_of(machine);
	opened->filtered = flow_filter_is_there(flow_code_filter(code), machine->index);
	/*
	 * Without ranges, libipt must not search for the branch: if blocks end at jumps, libipt's block decoder takes
	 * the first jump for the place. For CPUs without the erratum, TIP.PGD has the address, and libipt does not
	 * search.
	 */
	opened->errata.skl014 = opened->filtered;
	flow_builder_start(&opened->builder, code);
	status = libipt_code_open(opened);
	if (status < 0) {
		libipt_close((struct flow_engine *)opened);
		return status;
	}
	*engine = (struct flow_engine *)opened;
	return 0;
}

void libipt_close(struct flow_engine *engine_)
{
	struct libipt_engine *engine = (struct libipt_engine *)engine_;

	if (!engine)
		return;
	if (engine->decoder)
		engine->class->free(engine->decoder);
	libipt_code_close(engine);
	flow_builder_free(&engine->builder);
	free(engine->replayed);
	free(engine->buffer);
	free(engine);
}
