/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that equal flow gives equal digests, and that moved or missing instructions change the digest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <ptl/flow.h>

#include "relog/flow_digest.h"
#include "tests/unit/random_flow.h"

#define STEPS 20000

/* Computes the digest with the code shifted by `shift` bytes. */
static struct relog_flow_digest digest_of(const struct random_flow *program, size_t pt_size, uint64_t shift)
{
	const struct ptl_flow_memory memory = {program->base + shift, program->code, program->code_size, "program"};
	const struct ptl_flow_raw raw = {
		.size = sizeof(raw), .pt = program->pt, .pt_size = pt_size, .memory = &memory, .memory_count = 1};
	struct relog_flow_digest digest;
	struct ptl_flow *flow = NULL;

	assert_int_equal(ptl_flow_open_raw(&raw, &flow), 0);
	assert_int_equal(relog_flow_digest(ptl_flow_trace(flow), &digest), 0);
	ptl_flow_close(flow);
	return digest;
}

static void compare(const struct random_flow *program, size_t pt_size, uint64_t shift, bool equal)
{
	struct relog_flow_digest whole = digest_of(program, program->pt_size, 0);
	struct relog_flow_digest other = digest_of(program, pt_size, shift);

	assert_int_equal(relog_flow_digests_equal(&whole, &other), equal);
	relog_flow_digest_free(&whole);
	relog_flow_digest_free(&other);
}

static struct random_flow *make_program(uint64_t seed)
{
	struct random_flow *program = calloc(1, sizeof(*program));

	assert_non_null(program);
	random_flow_make_with(program, seed, STEPS, 1, FLOW_ALL & ~FLOW_32);
	return program;
}

static void digests_tell_flows_apart(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct random_flow *program = make_program(seed);

		compare(program, program->pt_size, 0, true);
		/* without the last packets */
		compare(program, program->pt_size * 3 / 4, 0, false);
		/* without the code */
		compare(program, program->pt_size, (uint64_t)1 << 30, false);
		free(program);
	}
}

static uint64_t executed(const struct relog_flow_digest *digest)
{
	uint64_t instructions = 0;

	for (size_t i = 0; i < digest->count; i++)
		instructions += digest->groups[i].instructions;
	return instructions;
}

/* equal numbers of instructions, addresses differing in one bit */
static void addresses_matter(void **state)
{
	/* PSB, PSBEND, MODE.Exec (64-bit), TIP.PGE, TIP.PGD; the code is nop; jmp *%rax. */
	static const uint8_t jump[] = {0x90, 0xff, 0xe0};
	uint8_t pt[] = {0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02,
			0x82, 0x02, 0x23, 0x99, 0x01, 0xd1, 0x00, 0x10, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01};
	struct relog_flow_digest digests[2];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const struct ptl_flow_memory memory = {0x401000 + 0x10000 * i, jump, sizeof(jump), NULL};
		const struct ptl_flow_raw raw = {
			.size = sizeof(raw), .pt = pt, .pt_size = sizeof(pt), .memory = &memory, .memory_count = 1};
		struct ptl_flow *flow = NULL;

		pt[23] = (uint8_t)(0x40 + i);
		assert_int_equal(ptl_flow_open_raw(&raw, &flow), 0);
		assert_int_equal(relog_flow_digest(ptl_flow_trace(flow), &digests[i]), 0);
		ptl_flow_close(flow);
	}
	assert_int_equal(digests[0].count, digests[1].count);
	assert_int_equal(executed(&digests[0]), 2);
	assert_int_equal(executed(&digests[1]), 2);
	assert_false(relog_flow_digests_equal(&digests[0], &digests[1]));
	relog_flow_digest_free(&digests[0]);
	relog_flow_digest_free(&digests[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digests_tell_flows_apart),
		cmocka_unit_test(addresses_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
