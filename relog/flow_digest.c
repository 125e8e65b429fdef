/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hash is a polynomial of all values in order, modulo a prime. The hash of two consecutive stretches follows from
 * the hash of each, so threads hash segments independently. The polynomial's point is random: nobody can construct a
 * trace with the hash of another trace.
 */
#include "relog/flow_digest.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <ptl/flow.h>

#include "common/error.h"
#include "common/program/interrupt.h"
#include "common/vector.h"

#define PRIME (((uint64_t)1 << 61) - 1)

/* The digest of a segment, or of several consecutive segments. */
struct partial {
	struct relog_flow_group group;
	uint64_t power; /* the point to the power of the number of values */
};

static uint64_t multiply(uint64_t a, uint64_t b)
{
	const unsigned __int128 product = (unsigned __int128)a * b;
	const uint64_t sum = (uint64_t)(product & PRIME) + (uint64_t)(product >> 61);

	return sum >= PRIME ? sum - PRIME : sum;
}

static uint64_t add_modulo(uint64_t a, uint64_t b)
{
	return a + b >= PRIME ? a + b - PRIME : a + b;
}

/* Returns the random point. All digests of a run share the point, so they can be compared. */
static uint64_t choose_point(void)
{
	static uint64_t point;
	uint64_t random;

	if (point)
		return point;
	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		random = 0x9e3779b97f4a7c15u;
	return point = random % (PRIME - 2) + 2;
}

static void digest_value(struct partial *partial, uint64_t point, uint64_t value)
{
	/* Hash both halves: a 64-bit value may exceed the prime. */
	const uint64_t halves[] = {(uint32_t)value, value >> 32};

	for (size_t i = 0; i < 2; i++) {
		partial->group.hash = add_modulo(multiply(partial->group.hash, point), halves[i] + 1);
		partial->power = multiply(partial->power, point);
	}
}

static void take_block(struct partial *partial, uint64_t point, const struct ptl_flow_block *block)
{
	uint64_t ip = block->ip;

	partial->group.blocks++;
	partial->group.instructions += block->instructions;
	for (uint32_t i = 0; i < block->instructions; i++) {
		digest_value(partial, point, ip);
		ip += block->lengths[i];
	}
}

static void digest_event(struct partial *partial, uint64_t point, const struct ptl_flow_event *event)
{
	const uint64_t values[] = {
		event->kind | (uint64_t)event->cause << 8 | (uint64_t)event->flags << 16 | (uint64_t)event->type << 24 |
			(uint64_t)event->item << 32,
		event->value,
		event->from,
		event->to,
		event->size,
	};

	partial->group.events++;
	partial->group.gaps += event->kind == PTL_FLOW_GAP;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		digest_value(partial, point, values[i]);
}

/* ---- the view -------------------------------------------------------------------------------- */

struct digesting {
	struct relog_flow_digest *digest;
	uint64_t point;
};

static int digest_begin(void *context, const struct ptl_flow_segment *segment, void **partial)
{
	const int status = common_interrupt_check();
	struct partial *made = status ? NULL : calloc(1, sizeof(*made));

	(void)context;
	if (!made)
		return status ? status : common_fail_memory("a segment", sizeof(*made));
	made->power = 1;
	made->group.pid = segment->pid;
	made->group.tid = segment->tid;
	made->group.cpu = segment->cpu;
	made->group.segments = 1;
	*partial = made;
	return 0;
}

static int digest_consume(void *context, void *partial, const struct ptl_flow_segment *segment,
			  struct ptl_flow_batch *batch)
{
	const struct digesting *digesting = context;
	const struct ptl_flow_item *item;

	(void)segment;
	while ((item = ptl_flow_batch_next(batch))) {
		if (item->block)
			take_block(partial, digesting->point, item->block);
		else
			digest_event(partial, digesting->point, item->event);
	}
	return common_interrupt_check();
}

static int digest_merge(void *context, void *left, void *right)
{
	struct partial *to = left, *from = right;

	(void)context;
	to->group.hash = add_modulo(multiply(to->group.hash, from->power), from->group.hash);
	to->power = multiply(to->power, from->power);
	to->group.segments += from->group.segments;
	to->group.blocks += from->group.blocks;
	to->group.instructions += from->group.instructions;
	to->group.events += from->group.events;
	to->group.gaps += from->group.gaps;
	free(from);
	return 0;
}

static int digest_finish(void *context, const struct ptl_flow_segment *last, void *result)
{
	struct relog_flow_digest *digest = ((const struct digesting *)context)->digest;
	const struct partial *partial = result;
	int status = 0;

	(void)last;
	if (common_vector_room(&digest->groups, digest->count, sizeof(*digest->groups)))
		digest->groups[digest->count++] = partial->group;
	else
		status = common_fail_memory("threads", digest->count * sizeof(*digest->groups));
	free(result);
	return status;
}

static void digest_drop(void *context, void *partial)
{
	(void)context;
	free(partial);
}

int relog_flow_digest(struct ptl_trace *trace, struct relog_flow_digest *digest)
{
	static const struct ptl_flow_view view = {
		.size = sizeof(view),
		.begin = digest_begin,
		.consume = digest_consume,
		.merge = digest_merge,
		.finish = digest_finish,
		.drop = digest_drop,
	};
	struct digesting digesting = {.digest = digest, .point = choose_point()};
	struct ptl_flow *flow;
	int status;

	*digest = (struct relog_flow_digest){0};
	status = ptl_flow_open(trace, &flow);
	if (status)
		return status;
	status = ptl_flow_run(flow, NULL, &view, &digesting);
	ptl_flow_close(flow);
	if (status)
		relog_flow_digest_free(digest);
	return status;
}

void relog_flow_digest_free(struct relog_flow_digest *digest)
{
	free(digest->groups);
	*digest = (struct relog_flow_digest){0};
}

static bool same_group(const struct relog_flow_group *a, const struct relog_flow_group *b)
{
	return a->pid == b->pid && a->tid == b->tid && a->cpu == b->cpu && a->segments == b->segments &&
	       a->blocks == b->blocks && a->instructions == b->instructions && a->events == b->events &&
	       a->gaps == b->gaps && a->hash == b->hash;
}

bool relog_flow_digests_equal(const struct relog_flow_digest *a, const struct relog_flow_digest *b)
{
	bool same = a->count == b->count;

	for (size_t i = 0; same && i < a->count; i++)
		same = same_group(&a->groups[i], &b->groups[i]);
	return same;
}
