/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts how often each region was left, and by which way: the basis of views that only count. A counter is a region
 * without its blocks, in half a cache line, so that a TNT bit costs one load. The number of a counter is its offset in
 * the table in bytes: following a number needs no computation between two loads. Number 0 is no counter.
 */
#ifndef FLOW_NATIVE_CACHE_COUNTER_H
#define FLOW_NATIVE_CACHE_COUNTER_H

#include "common/hash.h"
#include "common/hash_map.h"
#include "flow/engine/engine.h"
#include "flow/engine/step.h"
#include "flow/native/cache/region.h"

struct native_counter {
	uint32_t next[2]; /* CONDITIONAL: next counter, by TNT bit; 0: not known yet */
	union {
		uint32_t count[2];           /* count, by TNT bit; ways without a TNT bit count in the first */
		struct flow_step_marks step; /* marks of the run, if runs are given as steps */
	};
	uint32_t push;    /* plain counter: counter of the call's return address, or NATIVE_COUNTER_CALLS; 0: no call */
	uint8_t decision; /* enum native_decision */
	bool plain;       /* the counter has all necessary data; otherwise the region is needed */
	uint64_t sums;    /* sums: see NATIVE_COUNTER_BLOCK */
};

/* Unit of blocks in `sums`; the lower bits are instructions. The sums of a packet do not overflow. */
#define NATIVE_COUNTER_BLOCK (1ull << 40)

/* Flag in `push`: several calls, in a list from this place up to a 0. */
#define NATIVE_COUNTER_CALLS (1u << 31)

/* The rest of a counter. */
struct native_counted {
	struct native_region *region; /* the region may be a stub by now, or may have another counter */
	struct flow_block_run run;    /* run of the region */
	uint64_t count[2];            /* counts moved from the counter, whose own counts are short */
};

/* An edge: a TIP's way from a region to an address, and its count. */
struct native_count_edge {
	uint64_t ip;
	uint32_t from; /* counter of the region, with the mode of the TIP; 0: a free place */
	uint32_t to;   /* counter at ip */
	uint64_t count;
};

/* Counter at the target of a TIP. */
struct native_count_target {
	uint64_t tag; /* as in native_target */
	uint64_t to;  /* number of a counter */
};

#define NATIVE_COUNT_TARGETS_SHIFT 13 /* log2 */
#define NATIVE_COUNT_EDGES_SHIFT 13   /* log2 */

struct native_counters {
	const struct flow_count_sink *sink;  /* sink of counts; NULL: only sums are wanted */
	struct native_counter *table;        /* counters by number; native_pages */
	struct native_counted *counted;      /* in the order of `table` */
	uint32_t *calls;                     /* lists of calls: see NATIVE_COUNTER_CALLS */
	struct native_count_target *targets; /* by address; allocated together with the first counter */
	struct native_count_edge *edges;     /* native_pages; replaced edges move to more_edges */
	struct common_hash_map more_edges;   /* counts of indirect branches by from << 32 | to */
	uint32_t count;
	uint32_t capacity;         /* elements of table */
	uint32_t counted_capacity; /* elements of counted */
	uint32_t call_count, call_capacity;
	uint32_t steps; /* steps since counts were moved from the table */
	int status;     /* result of the sink when the counters were cleared */
};

static inline struct native_counter *native_counter_at(struct native_counter *table, uint32_t number)
{
	return (struct native_counter *)((char *)table + number);
}

/*
 * Find the next counter of a TNT bit in two steps. native_counter_way does not need the number, so the two loads of
 * consecutive counters have no computation in between.
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

/* Returns the rest of the counter. */
static inline struct native_counted *native_counters_counted(const struct native_counters *counters, uint32_t number)
{
	return &counters->counted[number / sizeof(struct native_counter)];
}

/* Makes a counter of the region. Returns the counter's number; 0 without memory. May move the table. */
uint32_t native_counter_make(struct native_code *code, struct native_region *region);

static inline uint32_t native_counter_of(struct native_code *code, struct native_region *region)
{
	return __builtin_expect(region->counter, 1) ? region->counter : native_counter_make(code, region);
}

/* Returns the place of the target for ip. The place may hold another target. */
static inline struct native_count_target *native_counters_target(const struct native_counters *counters, uint64_t ip)
{
	return &counters->targets[common_hash_high(ip, NATIVE_COUNT_TARGETS_SHIFT)];
}

/* Makes the region's counter plain, if possible. The region's calls already have counters at their return addresses. */
void native_counter_make_plain(struct native_counters *counters, const struct native_region *region);

/* Reports the number of increments since the last call, at most NATIVE_COUNTER_STEPS. */
#define NATIVE_COUNTER_STEPS (UINT32_MAX / 2)
void native_counters_steps(struct native_counters *counters, uint32_t steps);
/* Returns the place of the edge from a counter to an address. The place may hold another edge. NULL without memory. */
struct native_count_edge *native_counters_edge_place(struct native_counters *counters, uint32_t from, uint64_t ip);
/* Stores an edge in the place, and keeps the replaced edge's count. Returns false without memory. */
bool native_counters_edge_put(struct native_counters *counters, struct native_count_edge *place,
			      const struct native_count_edge *edge);
/* Detaches the counter from the region, which is about to change. The counts are kept. */
void native_counters_leave(struct native_counters *counters, struct native_region *region);
/*
 * Gives all counts to the sink, and sets the counts to zero. A negative result is the sink's status, or an earlier
 * status.
 */
int native_counters_flush(struct native_counters *counters);

#endif
