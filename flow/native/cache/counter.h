/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How often each region was left, and which way: what views that only count are made of. A counter is a region without
 * its blocks: half a cache line, so that a TNT bit costs one load. The number of a counter
 * is its offset in the table in bytes: nothing is computed between the load of one and that of the next. 0 is none.
 */
#ifndef FLOW_NATIVE_CACHE_COUNTER_H
#define FLOW_NATIVE_CACHE_COUNTER_H

#include "common/hash.h"
#include "common/hash_map.h"
#include "flow/engine/engine.h"
#include "flow/engine/step.h"
#include "flow/native/cache/region.h"

struct native_counter {
	uint32_t next[2]; /* of CONDITIONAL, by TNT bit: the counter that it leads to; 0: not known yet */
	union {
		uint32_t count[2];           /* by TNT bit; what no TNT bit decides is the first */
		struct flow_step_marks step; /* where runs are given as steps */
	};
	uint32_t
		push; /* of a plain one: the counter that its call returns to, or NATIVE_COUNTER_CALLS; 0: it has none */
	uint8_t decision; /* enum native_decision */
	bool plain;       /* the rest of this is all that there is to know; else the region has more */
	uint64_t sums;    /* see NATIVE_COUNTER_BLOCK */
};

/* Sums are of instructions, and of blocks in units of this. Those of a packet fit. */
#define NATIVE_COUNTER_BLOCK (1ull << 40)

/* In `push`: there are several such counters, in a list, from this place on and up to a 0. */
#define NATIVE_COUNTER_CALLS (1u << 31)

/* The rest of a counter. */
struct native_counted {
	struct native_region *region; /* may be a stub by now, or made again with another counter */
	struct flow_block_run run;    /* of the region */
	uint64_t count[2];            /* what was moved here, as the counter's own are short */
};

/* Where a TIP led from a region, and how often. */
struct native_count_edge {
	uint64_t ip;
	uint32_t from; /* a counter, with the mode of the TIP; 0: a free place */
	uint32_t to;   /* the counter at ip */
	uint64_t count;
};

/* Where a TIP leads. */
struct native_count_target {
	uint64_t tag; /* as of native_target */
	uint64_t to;  /* a counter */
};

#define NATIVE_COUNT_TARGETS_SHIFT 13 /* log2 */
#define NATIVE_COUNT_EDGES_SHIFT 13   /* log2 */

struct native_counters {
	const struct flow_count_sink *sink;  /* where counts go; NULL: nobody wants more than sums */
	struct native_counter *table;        /* by number; native_pages */
	struct native_counted *counted;      /* in the same order */
	uint32_t *calls;                     /* see NATIVE_COUNTER_CALLS */
	struct native_count_target *targets; /* by address; there are some where there is a counter */
	struct native_count_edge *edges;     /* native_pages; those that are not there any more: */
	struct common_hash_map more_edges;   /* counts of indirect branches by from << 32 | to */
	uint32_t count;
	uint32_t capacity;         /* of table */
	uint32_t counted_capacity; /* of counted */
	uint32_t call_count, call_capacity;
	uint32_t steps; /* since counts were moved from the table */
	int status;     /* what the sink said when all was cleared */
};

static inline struct native_counter *native_counter_at(struct native_counter *table, uint32_t number)
{
	return (struct native_counter *)((char *)table + number);
}

/*
 * The counter that a TNT bit leads to, in two steps, so that between the load of one and that of the next there is nothing: the
 * first does not need the number.
 */
static inline const char *native_counter_way(const struct native_counter *table, uint64_t taken)
{
	const char *way = (const char *)table + offsetof(struct native_counter, next) + taken * sizeof(uint32_t);

	__asm__("" : "+r"(way));
	return way;
}

static inline uint32_t native_counter_next(const char *way, uint64_t number)
{
	return *(const uint32_t *)(way + number);
}

/* The rest of the counter. */
static inline struct native_counted *native_counters_counted(const struct native_counters *counters, uint32_t number)
{
	return &counters->counted[number / sizeof(struct native_counter)];
}

/* The number of the region's counter; 0 without memory. May move the table. */
uint32_t native_counter_make(struct native_code *code, struct native_region *region);

static inline uint32_t native_counter_of(struct native_code *code, struct native_region *region)
{
	return __builtin_expect(region->counter, 1) ? region->counter : native_counter_make(code, region);
}

/* The place of the target for ip, whatever it holds now. */
static inline struct native_count_target *native_counters_target(const struct native_counters *counters, uint64_t ip)
{
	return &counters->targets[common_hash_high(ip, NATIVE_COUNT_TARGETS_SHIFT)];
}

/* From now on the counter of the region, whose calls return to counters, is enough, if it can be. */
void native_counter_make_plain(struct native_counters *counters, const struct native_region *region);

/* Counters were incremented so many times since the last call, at most NATIVE_COUNTER_STEPS. */
#define NATIVE_COUNTER_STEPS (UINT32_MAX / 2)
void native_counters_steps(struct native_counters *counters, uint32_t steps);
/* The place of the edge from a counter to an address, whatever it holds now; NULL without memory. */
struct native_count_edge *native_counters_edge_place(struct native_counters *counters, uint32_t from, uint64_t ip);
/* Puts another edge there. False without memory. */
bool native_counters_edge_put(struct native_counters *counters, struct native_count_edge *place,
			      const struct native_count_edge *edge);
/* The region is about to change, and gets another counter; what was counted stays. */
void native_counters_leave(struct native_counters *counters, struct native_region *region);
/* Gives all counts to the sink; all are zero then. Negative: the sink's status, or an earlier one. */
int native_counters_flush(struct native_counters *counters);

#endif
