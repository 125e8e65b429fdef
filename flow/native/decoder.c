/* SPDX-License-Identifier: BSD-2-Clause */
/* The packet loop of the native engine: from PSB+ to the next segment. Frequent packets are handled inline. */
#include "flow/native/cache/packet_word.h"
#include "flow/native/count_path.h"
#include "flow/native/fast_path.h"
#include "flow/native/gap.h"
#include "flow/native/guest.h"
#include "flow/native/interleaved_packet.h"
#include "flow/native/mode_packet.h"
#include "flow/native/packet.h"
#include "flow/native/pending_event.h"
#include "flow/native/resynchronise.h"
#include "flow/native/return_stack.h"
#include "flow/native/step_path.h"
#include "flow/native/walk.h"
#include "flow/segment/packets.h"

#include <string.h>

#include "common/error.h"
#include "format/pt/decode.h"

void native_decoder_use(struct native_decoder *decoder, struct native_code *code)
{
	struct native_decoder *each = decoder;

	do {
		each->code = code;
		each->out.generation = &code->generation;
		each = each->others;
	} while (each != decoder);
}

/* Forgets the region of a return site. A shared site stays, and an own site takes its place. */
static void forget_site(struct native_decoder *decoder, unsigned place)
{
	struct native_return_site *site = decoder->calls.sites[place];

	if (site->region && site->region->shared) {
		decoder->calls.unshared[place] = *site;
		site = decoder->calls.sites[place] = &decoder->calls.unshared[place];
	}
	site->region = NULL;
}

/* Finds the region of the current address again after all regions were cleared. */
static void find_again(struct native_decoder *decoder, uint64_t ip)
{
	/* Return sites are retired, too, but keep their addresses for a new look-up. */
	for (unsigned i = 0; i < decoder->calls.count; i++)
		forget_site(decoder, (decoder->calls.top - 1 - i) % NATIVE_STACK);
	if (decoder->region)
		native_go(decoder, ip);
}

void native_decoder_clear(struct native_decoder *decoder)
{
	uint64_t ip = decoder->region ? decoder->region->here.ip : 0;

	native_output_flush(&decoder->out);
	native_code_clear(decoder->code);
	find_again(decoder, ip);
}

void native_decoder_change(struct native_decoder *decoder, const struct flow_code_span *changes, size_t count)
{
	uint64_t ip = decoder->region ? decoder->region->here.ip : 0;

	native_output_flush(&decoder->out);
	if (native_code_change(decoder->code, changes, count))
		find_again(decoder, ip);
}

void native_decoder_switch(struct native_decoder *decoder, struct native_code *code)
{
	uint64_t ip = decoder->region ? decoder->region->here.ip : 0;

	native_output_flush(&decoder->out);
	native_decoder_use(decoder, code);
	/* The other code still uses the sites on the stack: the addresses are copied. */
	for (unsigned i = 0; i < decoder->calls.count; i++) {
		const unsigned place = (decoder->calls.top - 1 - i) % NATIVE_STACK;
		struct native_return_site *own = &decoder->calls.unshared[place];

		*own = *decoder->calls.sites[place];
		own->region = NULL;
		decoder->calls.sites[place] = own;
	}
	if (decoder->region)
		native_go(decoder, ip);
}

/* Checks for a FUP that comes too early in a PSB+: BDM70. */
static bool is_early(const struct native_decoder *decoder, const struct ptl_pt_packet *packet)
{
	return packet->kind == PTL_PT_FUP &&
	       flow_psb_plus_enables(decoder->packets.at + packet->size,
				     (size_t)(decoder->packets.end - decoder->packets.at) - packet->size,
				     &decoder->errata);
}

/* Skips padding. Returns false at the end. */
static bool pass_padding(struct native_decoder *decoder)
{
	decoder->packets.at += format_pt_padding(decoder->packets.at,
						 (size_t)(decoder->packets.end - decoder->packets.at));
	return decoder->packets.at < decoder->packets.end;
}

/* Reads PSB+ from the packet behind the PSB. Returns false if the bytes are damaged. */
static bool read_header(struct native_decoder *decoder)
{
	bool within = decoder->region != NULL;
	struct ptl_pt_packet packet = {0};
	struct native_start start = {0};

	decoder->packets.last_ip = 0;
	decoder->packets.context = (struct ptl_pt_context){0};
	native_guest_psb(decoder);
	/* An overflow ends PSB+, too. */
	while (packet.kind != PTL_PT_PSBEND && packet.kind != PTL_PT_OVF && pass_padding(decoder)) {
		int size = native_read(decoder, decoder->packets.at, &decoder->packets.context, &packet);

		if (size < 0 ||
		    ((within || !is_early(decoder, &packet)) && !native_state_packet(decoder, &packet, &start)))
			return false;
		decoder->packets.at += size;
	}
	/* The CPU forgets its calls at a PSB. Earlier calls must not be pushed later. */
	native_clear_stack(decoder);
	decoder->gap.cause = FLOW_GAP_NONE;
	native_output_since(&decoder->out);
	if (packet.kind == PTL_PT_OVF || within)
		return true;
	decoder->place = NATIVE_PLACE_KNOWN;
	if (start.known)
		native_go(decoder, start.ip);
	return true;
}

/* --- the loop ----------------------------------------------------------------------------------------- */

/* Handles a PSB within the segment that is missing in the index of PSBs: flow continues. */
static bool pass_psb(struct native_decoder *decoder)
{
	if (decoder->events_pending)
		native_pending_events_flush(decoder);
	if (decoder->holding)
		native_drop_held(decoder, true);
	if (decoder->has_from)
		native_end_at_fup(decoder);
	decoder->packets.at += PTL_PT_PSB_SIZE;
	if (!read_header(decoder))
		native_end(decoder, FLOW_GAP_PACKET);
	return !decoder->failed && !decoder->out.status;
}

/* A FUP without a TIP still proves the instructions before the FUP. */
static void walk_to_fup(struct native_decoder *decoder)
{
	if (decoder->region && decoder->has_from)
		native_walk_to(decoder, decoder->from);
}

/* Decodes any packet except PAD. Returns false at the segment's end. */
static bool read_packet(struct native_decoder *decoder)
{
	struct ptl_pt_packet packet;
	int size = native_read(decoder, decoder->packets.at, &decoder->packets.context, &packet);

	if (size < 0) {
		if (size == PTL_TRUNCATED)
			walk_to_fup(decoder);
		native_end(decoder, FLOW_GAP_PACKET);
		return false;
	}
	if (__builtin_expect(packet.kind == PTL_PT_PSB, 0))
		return pass_psb(decoder);
	native_packet(decoder, &packet);
	decoder->packets.at += size;
	return !decoder->failed && !decoder->out.status;
}

/*
 * Decodes frequent packets, then a single packet of any kind, while the segment's end is far. Returns false at the end.
 */
static inline bool read_some(struct native_decoder *decoder, const struct native_interleaved *slot, bool *ready)
{
	if (!slot && decoder->out.sink->step && !native_step_path(decoder))
		return false;
	if (!slot && !decoder->out.sink->step && !decoder->recode.enter)
		native_fast_path(decoder);
	else if (slot && !slot->eager)
		native_fast_path_known(decoder);
	if (slot && !slot->eager && !native_count_path(decoder, slot))
		return false;
	if (decoder->packets.end - decoder->packets.at <= PTL_PT_PACKET_MAX)
		return true;
	*ready = slot && native_interleaved_ready(slot);
	if (*ready || *decoder->packets.at)
		return *ready || read_packet(decoder);
	decoder->packets.at++;
	return true;
}

bool native_decoder_read(struct native_decoder *decoder, const struct native_interleaved *slot)
{
	bool more = !decoder->failed && !decoder->out.status, ready = false;

	while (more && !ready && decoder->packets.end - decoder->packets.at > PTL_PT_PACKET_MAX)
		more = read_some(decoder, slot, &ready);
	if (ready)
		return true;
	while (more && pass_padding(decoder))
		more = read_packet(decoder);
	return false;
}

/*
 * Checks whether the packet at the current place is whole. A packet whose meaning may depend on later packets needs
 * `ahead` bytes.
 */
static bool may_read(const struct native_decoder *decoder, size_t ahead)
{
	struct ptl_pt_context context = decoder->packets.context;
	const size_t left = (size_t)(decoder->packets.end - decoder->packets.at);
	struct ptl_pt_packet packet;

	if (native_read(decoder, decoder->packets.at, &context, &packet) == PTL_TRUNCATED)
		return false;
	switch (packet.kind) {
	case PTL_PT_OVF:
	case PTL_PT_MODE_TSX:
		return left >= ahead;
	case PTL_PT_FUP:
		return left >= ahead || !decoder->errata.apl12;
	default:
		return true;
	}
}

void native_decoder_read_whole(struct native_decoder *decoder, const uint8_t *end, size_t ahead)
{
	bool more = !decoder->failed && !decoder->out.status;

	while (more) {
		if (end - decoder->packets.at > (ptrdiff_t)ahead && !decoder->recode.enter) {
			decoder->packets.end = end - ahead;
			native_fast_path(decoder);
		}
		decoder->packets.end = end;
		more = pass_padding(decoder) && may_read(decoder, ahead) && read_packet(decoder);
	}
	/* More packets follow, and may need the calls of these runs. */
	native_update_stack(decoder);
	native_output_flush(&decoder->out);
}

static const uint8_t *moved(const uint8_t *at, const uint8_t *from, const uint8_t *to)
{
	return at ? to + (at - from) : NULL;
}

void native_decoder_move(struct native_decoder *decoder, const uint8_t *bytes, size_t size)
{
	const uint8_t *from = decoder->packets.begin;

	decoder->packets.at = moved(decoder->packets.at, from, bytes);
	decoder->announced.mode_at = moved(decoder->announced.mode_at, from, bytes);
	decoder->announced.cr3_end = moved(decoder->announced.cr3_end, from, bytes);
	decoder->since_anchor.end = moved(decoder->since_anchor.end, from, bytes);
	decoder->packets.begin = bytes;
	decoder->packets.end = bytes + size;
}

/* Follows the flow between the last packet and the start of the next segment. */
static void end_flow(struct native_decoder *decoder, const struct flow_engine_input *input)
{
	if (!input->has_next) {
		/* A FUP without a TIP still proves the instructions before the FUP. */
		if (decoder->has_from)
			native_walk_to(decoder, decoder->from);
		/* An announced change proves the far transfer. */
		else if (decoder->announced.paging_due || decoder->announced.vmcs_due)
			native_pass_far(decoder);
	} else if (decoder->has_from)
		native_end_at_fup(decoder);
	else if (input->next_ip_known)
		native_walk_to(decoder, input->next_ip);
	else
		native_gap(decoder, FLOW_GAP_MISMATCH, 0);
}

static void finish_segment(struct native_decoder *decoder, const struct flow_engine_input *input)
{
	if (decoder->failed || decoder->out.status)
		return;
	decoder->packets.at = decoder->packets.end;
	if (decoder->events_pending)
		native_pending_events_flush(decoder);
	if (decoder->holding)
		native_drop_held(decoder, input->has_next);
	if (decoder->region)
		end_flow(decoder, input);
	/*
	 * Packets are disabled here, and enabled at the next PSB, but the TIP.PGE in between is missing. An earlier gap
	 * already reports the loss.
	 */
	else if (decoder->place == NATIVE_PLACE_KNOWN && decoder->gap.cause == FLOW_GAP_NONE && input->has_next &&
		 input->next_ip_known)
		native_gap(decoder, FLOW_GAP_MISMATCH, 0);
	native_drop_address_space(decoder);
	native_drop_mode(decoder);
}

static void start_segment(struct native_decoder *decoder, const struct flow_engine_input *input,
			  const struct flow_sink *sink)
{
	native_output_start(&decoder->out, sink);
	decoder->out.time = input->segment->time;
	flow_clock_start(&decoder->clock, &decoder->machine);
	decoder->packets.begin = decoder->packets.at = input->bytes;
	decoder->packets.end = input->bytes + input->size;
	decoder->packets.offset = input->segment->offset;
	decoder->region = NULL;
	decoder->packets.last_ip = 0;
	decoder->disabled_ip = 0;
	decoder->packets.context = (struct ptl_pt_context){0};
	decoder->mode = decoder->machine.mode ? decoder->machine.mode : 64;
	decoder->announced.mode = 0;
	decoder->place = NATIVE_PLACE_KNOWN;
	decoder->gap.cause = FLOW_GAP_NONE;
	decoder->busy = 0;
	decoder->guest = (struct native_guest){.input = input->has_guests ? input : NULL};
	decoder->pending.count = 0;
	decoder->pending.behind = decoder->pending.placed = false;
	decoder->pending.fup_owned = decoder->announced.paging_due = decoder->announced.vmcs_due = false;
	decoder->announced.mode_at = NULL;
	decoder->since_anchor.end = NULL;
	decoder->announced.cr3_end = NULL;
	decoder->announced.paging_first = decoder->gap.within = false;
	decoder->failed = decoder->no_memory = false;
	decoder->calls.top = decoder->calls.count = 0;
	decoder->calls.runs = 0;
	decoder->calls.returning = false;
	decoder->calls.kept = input->calls_after != NULL;
	decoder->next_disabled = input->has_next && !input->next_ip_known;
}

/* Called before the batch's runs are removed: saves the calls of the runs, which are still needed. */
static void keep_calls(void *context)
{
	struct native_decoder *decoder = context;

	if (decoder->packets.at < decoder->packets.end || decoder->calls.kept)
		native_update_stack(decoder);
	decoder->calls.runs = 0;
}

void native_decoder_begin(struct native_decoder *decoder, const struct flow_engine_input *input,
			  const struct flow_sink *sink)
{
	start_segment(decoder, input, sink);
	if (decoder->packets.end - decoder->packets.at < PTL_PT_PSB_SIZE || !pass_psb(decoder))
		native_end(decoder, FLOW_GAP_PACKET);
	decoder->calls.before = input->calls_before ? input : NULL;
	decoder->calls.missing = 0;
}

int native_decoder_end(struct native_decoder *decoder, const struct flow_engine_input *input)
{
	finish_segment(decoder, input);
	if (input->calls_after)
		native_return_stack_save(decoder, input->calls_after);
	native_output_flush(&decoder->out);
	if (decoder->no_memory)
		return common_fail_memory("flow", native_code_size(decoder->code));
	return decoder->out.status;
}

int native_decoder_run(struct native_decoder *decoder, const struct flow_engine_input *input,
		       const struct flow_sink *sink)
{
	native_code_trim(decoder->code);
	native_decoder_begin(decoder, input, sink);
	native_decoder_read(decoder, NULL);
	return native_decoder_end(decoder, input);
}

static int open_output(struct native_decoder *decoder)
{
	int status = native_output_open(&decoder->out);

	decoder->out.before_flush = keep_calls;
	decoder->out.flush_context = decoder;
	decoder->out.period = flow_clock_period(&decoder->machine);
	decoder->out.generation = &decoder->code->generation;
	return status;
}

int native_decoder_open(struct native_decoder *decoder, struct native_source source, const struct ptl_machine *machine)
{
	int status;

	*decoder = (struct native_decoder){.machine = *machine, .errata = flow_errata_of(machine)};
	decoder->code = &decoder->known_code;
	decoder->others = decoder;
	status = open_output(decoder);
	if (status < 0)
		return status;
	status = native_code_open(decoder->code, source);
	if (status < 0)
		native_output_close(&decoder->out);
	return status;
}

int native_decoder_join(struct native_decoder *decoder, struct native_decoder *other)
{
	int status;

	*decoder = (struct native_decoder){.machine = other->machine, .errata = other->errata, .code = other->code};
	decoder->others = decoder;
	status = open_output(decoder);
	if (status < 0)
		return status;
	decoder->others = other->others;
	other->others = decoder;
	return 0;
}

void native_decoder_close(struct native_decoder *decoder)
{
	struct native_decoder *before = decoder;

	while (before && before->others != decoder)
		before = before->others;
	if (before)
		before->others = decoder->others;
	native_code_close(&decoder->known_code);
	native_output_close(&decoder->out);
}
