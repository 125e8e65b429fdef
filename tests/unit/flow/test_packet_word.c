/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares decoding by packet words with decoding packet by packet: random programs, whole and with damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#include "common/file.h"
#include "tests/unit/random_flow.h"
#include "tests/unit/packet_word_flow.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define PROGRAMS 30
#define DAMAGES 4
#define STEPS 10000
#define ROUNDS 4 /* words are met, remembered, and taken */

struct code {
	uint64_t base;
	const uint8_t *bytes;
	size_t size;
};

static void find_code(void *context, uint64_t ip, struct flow_code_range *range)
{
	const struct code *code = context;
	uint64_t first = code->base, end = code->base + code->size;

	if (ip >= first && ip < end)
		*range = (struct flow_code_range){first, end - 1, code->bytes, 0, false};
	else if (ip < first)
		*range = (struct flow_code_range){0, first - 1, NULL, FLOW_NONE, false};
	else
		*range = (struct flow_code_range){end, UINT64_MAX, NULL, FLOW_NONE, false};
}

/* Damages `count` bytes. */
static void damage(struct random_flow *flow, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		flow->pt[pt_random_below(&flow->random, (uint32_t)flow->pt_size)] ^=
			(uint8_t)(1u << pt_random_below(&flow->random, 8));
}

/* Each kind of packets, and none: with timing packets, few words repeat. */
static const unsigned features[] = {
	0,        FLOW_FORMS, FLOW_FORMS | FLOW_32, FLOW_FORMS | FLOW_EVENTS | FLOW_RESTART, FLOW_DEFERRED,
	FLOW_ALL, FLOW_POPS,  FLOW_ALL | FLOW_POPS};

static struct random_seeds seeds;

static void random_programs(void **state)
{
	struct random_flow *flow = malloc(sizeof(*flow));
	struct code code;
	const struct native_source source = {find_code, &code};
	uint64_t known = 0, programs = 0;
	uint32_t more;

	(void)state;
	assert_non_null(flow);
	seeds = random_flow_seeds(PROGRAMS);
	for (; random_flow_next(&seeds); programs++) {
		random_flow_make_with(flow, seeds.seed, STEPS, 1, features[seeds.seed % COUNT(features)]);
		code = (struct code){flow->base, flow->code, flow->code_size};
		for (unsigned i = 0; i < DAMAGES; i++) {
			assert_true(word_flows_equal(source, flow->mode, flow->pt, flow->pt_size, ROUNDS, &more));
			known += more;
			damage(flow, 20);
		}
	}
	assert_true(known > 200 * programs);
	free(flow);
}

static void load(const char *name, const char *file, uint8_t **data, size_t *size)
{
	const char *folder = getenv("PTL_SHARED_TRACES");
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s/%s", folder ? folder : "", name, file);
	if (common_read_file(path, 64 << 20, data, size) < 0) {
		print_message("skipped: no %s; PTL_SHARED_TRACES names the folder of real traces\n", path);
		skip();
	}
}

/* Each trace has its code in one range. */
static void real_traces(void **state)
{
	static const struct {
		const char *name;
		uint64_t base;
	} traces[] = {{"mruby", 0x400000}, {"foo", 0x7ffff7819000}};

	(void)state;
	for (size_t i = 0; i < COUNT(traces); i++) {
		struct code code = {.base = traces[i].base};
		uint8_t *pt, *bytes;
		uint32_t known;
		size_t size;

		load(traces[i].name, "trace.pt", &pt, &size);
		pt = realloc(pt, size + FLOW_ENGINE_ROOM);
		assert_non_null(pt);
		load(traces[i].name, "memory.raw", &bytes, &code.size);
		code.bytes = bytes;
		assert_true(word_flows_equal((struct native_source){find_code, &code}, 64, pt, size, ROUNDS, &known));
		assert_true(known > 100);
		free(bytes);
		free(pt);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_programs),
		cmocka_unit_test(real_traces),
	};

	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	random_flow_report(&seeds);
	return failed;
}
