/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares the native engine, and libipt, with random programs of known flow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#include <intel-pt.h>

#include "flow/native/decoder.h"
#include "tests/unit/random_flow.h"

#define PROGRAMS 800
#define STEPS 30000

struct seen {
	const struct random_flow *flow;
	size_t count; /* instructions */
	unsigned enables, asyncs, overflows, gaps;
	uint64_t instructions, branches; /* sums over batches */
	uint64_t blocks_branches;
	struct random_counts counts;
	size_t bounded; /* number of instructions with a lower and an upper time bound */
};

static void see_event(struct seen *seen, const struct flow_event *event)
{
	/* A field without a value has no rest of an earlier event or segment. */
	assert_true((event->flags & FLOW_EVENT_HAS_FROM) || !event->from);
	assert_true((event->flags & FLOW_EVENT_HAS_TO) || !event->to);
	random_count(&seen->counts, event->kind);
	seen->enables += event->kind == FLOW_ENABLED;
	seen->asyncs += event->kind == FLOW_ASYNC_BRANCH || event->kind == FLOW_ASYNC_DISABLED;
	if (event->kind == FLOW_GAP && event->cause == FLOW_GAP_OVERFLOW)
		seen->overflows++;
	else
		seen->gaps += event->kind == FLOW_GAP;
}

/* Checks that the mark's time bounds contain the current instruction's time. */
static void see_time(struct seen *seen, const struct flow_mark *mark)
{
	uint64_t time = seen->flow->times[seen->count];

	assert_non_null(mark);
	if (!mark->time || !random_flow_has(seen->flow, FLOW_CLOCK))
		return;
	if (mark->before != FLOW_UNBOUNDED)
		assert_true(time >= mark->time - mark->before);
	if (mark->after != FLOW_UNBOUNDED)
		assert_true(time <= mark->time + mark->after);
	seen->bounded += mark->before != FLOW_UNBOUNDED && mark->after != FLOW_UNBOUNDED;
}

static int see(void *context, const struct flow_batch *batch)
{
	struct seen *seen = context;
	struct flow_batch_cursor cursor = flow_batch_walk(batch);

	seen->instructions += batch->instructions;
	seen->branches += batch->branches;
	while (flow_batch_next(&cursor)) {
		uint64_t ip;

		if (cursor.event) {
			see_event(seen, cursor.event);
			continue;
		}
		ip = cursor.block->ip;
		for (uint32_t i = 0; i < cursor.block->instructions; i++) {
			assert_true(seen->count < seen->flow->truth_count);
			assert_int_equal(ip, seen->flow->truth[seen->count]);
			see_time(seen, flow_batch_mark(&cursor));
			seen->count++;
			ip += cursor.block->lengths[i];
		}
		seen->blocks_branches += cursor.block->branch != FLOW_BRANCH_NONE;
	}
	return 0;
}

static void find_code(void *context, uint64_t ip, struct flow_code_range *range)
{
	const struct random_flow *flow = context;
	uint64_t first = flow->base, end = flow->base + flow->code_size;

	if (ip >= first && ip < end)
		*range = (struct flow_code_range){first, end - 1, flow->code, 0, false};
	else if (ip < first)
		*range = (struct flow_code_range){0, first - 1, NULL, FLOW_NONE, false};
	else
		*range = (struct flow_code_range){end, UINT64_MAX, NULL, FLOW_NONE, false};
}

/* Reads the address in the PSB+ at offset. False: the PSB+ has no address. */
static bool start_of(const struct random_flow *flow, size_t offset, uint64_t *ip)
{
	struct ptl_pt_context context = {0};
	struct ptl_pt_packet packet;
	uint64_t last_ip = 0;
	bool found = false;

	do {
		int size = ptl_pt_decode(flow->pt + offset, flow->pt_size - offset, &context, &packet);

		assert_true(size > 0);
		offset += (size_t)size;
		found |= ptl_pt_ip_resolve(&packet, &last_ip, ip);
	} while (packet.kind != PTL_PT_PSBEND);
	return found;
}

static void decode_all(struct native_decoder *decoder, struct random_flow *flow, struct seen *seen)
{
	struct flow_sink sink = {.take = see, .context = seen};
	size_t at = 0;

	while (at < flow->pt_size) {
		size_t next = ptl_pt_find_psb(flow->pt, flow->pt_size, at + PTL_PT_PSB_SIZE);
		struct flow_segment segment = {.offset = at};
		struct flow_engine_input input = {
			.segment = &segment,
			.bytes = flow->pt + at,
			.size = next - at,
			.has_next = next < flow->pt_size,
		};

		if (input.has_next)
			input.next_ip_known = start_of(flow, next, &input.next_ip);
		assert_int_equal(native_decoder_run(decoder, &input, &sink), 0);
		at = next;
	}
}

static void native_equals_truth(struct random_flow *flow)
{
	struct ptl_machine machine = {.mode = 64, .tsc_multiplier = 1};
	struct native_decoder decoder;

	assert_int_equal(native_decoder_open(&decoder, (struct native_source){find_code, flow}, &machine), 0);
	/* The second time, everything comes from the engine's memory. */
	for (unsigned round = 0; round < 2; round++) {
		struct seen seen = {.flow = flow};

		decode_all(&decoder, flow, &seen);
		assert_int_equal(seen.count, flow->truth_count);
		assert_int_equal(seen.instructions, flow->truth_count);
		assert_int_equal(seen.branches, seen.blocks_branches);
		assert_int_equal(seen.enables, flow->enables);
		assert_int_equal(seen.asyncs, flow->asyncs);
		assert_int_equal(seen.overflows, flow->overflows);
		assert_int_equal(seen.gaps, 0);
		assert_memory_equal(&seen.counts, &flow->counts, sizeof(seen.counts));
		if (random_flow_has(flow, FLOW_CLOCK))
			assert_true(seen.bounded > flow->truth_count / 2);
	}
	native_decoder_close(&decoder);
}

static int read_code(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip, void *context)
{
	const struct random_flow *flow = context;
	uint64_t offset = ip - flow->base;

	(void)asid;
	if (offset >= flow->code_size)
		return -pte_nomap;
	if (size > flow->code_size - offset)
		size = flow->code_size - offset;
	memcpy(buffer, flow->code + offset, size);
	return (int)size;
}

/* Checks the generator: libipt must decode the whole stream to the expected addresses. */
static void libipt_equals_truth(struct random_flow *flow)
{
	struct pt_insn_decoder *decoder;
	struct pt_image *image = pt_image_alloc(NULL);
	struct pt_config config;
	size_t count = 0;
	int status;

	pt_config_init(&config);
	config.begin = flow->pt;
	config.end = flow->pt + flow->pt_size;
	decoder = pt_insn_alloc_decoder(&config);
	assert_non_null(decoder);
	assert_int_equal(pt_image_set_callback(image, read_code, flow), 0);
	assert_int_equal(pt_insn_set_image(decoder, image), 0);
	status = pt_insn_sync_forward(decoder);
	while (status >= 0) {
		struct pt_insn insn = {0};

		while (status >= 0 && (status & pts_event_pending)) {
			struct pt_event event;

			status = pt_insn_event(decoder, &event, sizeof(event));
		}
		if (status < 0)
			break;
		status = pt_insn_next(decoder, &insn, sizeof(insn));
		if (insn.iclass == ptic_error)
			break;
		/* Behind the last packet, libipt continues to the next branch that needs a packet. */
		if (count == flow->truth_count)
			break;
		assert_int_equal(insn.ip, flow->truth[count]);
		count++;
	}
	assert_true(status >= 0 || status == -pte_eos);
	assert_int_equal(count, flow->truth_count);
	pt_insn_free_decoder(decoder);
	pt_image_free(image);
}

static struct random_seeds programs, clocks; /* seeds of both tests */

static void random_programs(void **state)
{
	struct random_flow *flow = malloc(sizeof(*flow));

	(void)state;
	assert_non_null(flow);
	programs = random_flow_seeds(PROGRAMS);
	while (random_flow_next(&programs)) {
		/* Every second program has features that libipt does not support. */
		bool judged = programs.seed % 2;

		random_flow_make_with(flow, programs.seed, STEPS, 1,
				      judged ? FLOW_ALL & ~FLOW_RESTART : FLOW_ALL | FLOW_MODERN | FLOW_POPS);
		assert_true(flow->truth_count > 1000);
		if (judged)
			libipt_equals_truth(flow);
		native_equals_truth(flow);
	}
	free(flow);
}

/* Times have bounds, and the bounds are correct. */
static void times_within_bounds(void **state)
{
	struct random_flow *flow = malloc(sizeof(*flow));

	(void)state;
	assert_non_null(flow);
	clocks = random_flow_seeds(PROGRAMS / 8);
	while (random_flow_next(&clocks)) {
		random_flow_make_with(flow, clocks.seed, STEPS, 1, (FLOW_ALL & ~FLOW_TIMING) | FLOW_CLOCK);
		native_equals_truth(flow);
	}
	free(flow);
}

#define SYSTEM_CALL 0x401000u

static void find_system_call(void *context, uint64_t ip, struct flow_code_range *range)
{
	static uint8_t code[2] = {0x0f, 0x05};

	(void)context;
	if (ip - SYSTEM_CALL < sizeof(code))
		*range = (struct flow_code_range){SYSTEM_CALL, SYSTEM_CALL + sizeof(code) - 1, code, 0, false};
	else
		*range = (struct flow_code_range){ip, ip, NULL, FLOW_NONE, false};
}

struct last_event {
	struct flow_event event;
	size_t count;
};

static int keep_last(void *context, const struct flow_batch *batch)
{
	struct last_event *last = context;

	last->count += batch->event_count;
	if (batch->event_count)
		last->event = batch->events[batch->event_count - 1];
	return 0;
}

static void run_segment(struct native_decoder *decoder, uint8_t *pt, size_t size, struct last_event *last)
{
	const struct flow_segment segment = {.offset = 0};
	const struct flow_engine_input input = {.segment = &segment, .bytes = pt, .size = size};

	*last = (struct last_event){.count = 0};
	assert_int_equal(native_decoder_run(decoder, &input, &(struct flow_sink){.take = keep_last, .context = last}),
			 0);
}

/* PSB+; `enabled`: packets are enabled at the system call. */
static size_t put_header(uint8_t *pt, uint64_t *last_ip, bool enabled)
{
	size_t size = format_pt_put_psb(pt);

	*last_ip = 0;
	size += format_pt_put_mode_exec(pt + size, true, false, true);
	if (enabled)
		size += format_pt_put_fup(pt + size, last_ip, SYSTEM_CALL);
	return size + format_pt_put_psbend(pt + size);
}

/* An event without an address does not show an address from the previous segment. */
static void addresses_of_earlier_segments(void **state)
{
	const struct ptl_machine machine = {.mode = 64};
	struct native_decoder decoder;
	struct last_event last;
	uint8_t pt[64];
	uint64_t last_ip;
	size_t size;

	(void)state;
	assert_int_equal(native_decoder_open(&decoder, (struct native_source){find_system_call, NULL}, &machine), 0);
	size = put_header(pt, &last_ip, true);
	size += format_pt_put_cfe(pt + size, FLOW_CONTROL_SYSTEM_CALL, 0, true);
	size += format_pt_put_fup(pt + size, &last_ip, SYSTEM_CALL);
	run_segment(&decoder, pt, size, &last);
	assert_int_equal(last.event.kind, FLOW_CONTROL);
	assert_int_equal(last.event.flags, FLOW_EVENT_HAS_FROM);
	assert_int_equal(last.event.from, SYSTEM_CALL);

	size = put_header(pt, &last_ip, false);
	size += format_pt_put_mode_tsx(pt + size, true, false);
	run_segment(&decoder, pt, size, &last);
	assert_int_equal(last.count, 1);
	assert_int_equal(last.event.kind, FLOW_TSX);
	assert_int_equal(last.event.flags, 0);
	assert_int_equal(last.event.from, 0);
	native_decoder_close(&decoder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_programs),
		cmocka_unit_test(times_within_bounds),
		cmocka_unit_test(addresses_of_earlier_segments),
	};

	int failures = cmocka_run_group_tests(tests, NULL, NULL);

	random_flow_report(&programs);
	random_flow_report(&clocks);
	return failures;
}
