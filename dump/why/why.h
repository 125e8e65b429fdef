/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares the slow calls of a function with its other calls: paths of callees, branches, lines and events. All sums have
 * two sides: the slow calls and the other calls.
 */
#ifndef DUMP_WHY_WHY_H
#define DUMP_WHY_WHY_H

#include "analysis/call/call_set.h"
#include "analysis/event/event_names.h"
#include "dump/run/run.h"
#include "flow/symbol/source_line.h"

enum dump_why_side { DUMP_WHY_SLOW, DUMP_WHY_OTHER, DUMP_WHY_SIDES };

/* Values of a path of calls below the function, on one side. Times are nanoseconds. */
struct dump_why_node_sum {
	uint64_t calls;
	uint64_t present; /* calls of the function that have this path */
	uint64_t time, instructions;
	struct analysis_absence absence; /* part of `time` */
};

/* A path of calls. Node 0 is the function itself. */
struct dump_why_node {
	uint32_t function;
	uint32_t parent;
	uint32_t depth;
	uint32_t renamed;                              /* of a stub: path of the called function; 0: no stub */
	uint64_t last;                                 /* number of the last call with this path */
	uint32_t site_image;                           /* image of the first call's site; FLOW_NONE: unknown */
	uint64_t site;                                 /* return address of the first call, in the process */
	struct dump_why_node_sum sums[DUMP_WHY_SIDES]; /* with callees */
	struct dump_why_node_sum own[DUMP_WHY_SIDES];  /* without callees; after dump_why_paths */
};

/* A function below the function, on all paths. Totals count recursion once. */
struct dump_why_function {
	uint32_t function;
	uint32_t node; /* the path with the largest excess */
	struct dump_why_node_sum sums[DUMP_WHY_SIDES];
	struct dump_why_node_sum own[DUMP_WHY_SIDES];
};

enum dump_why_kind {
	DUMP_WHY_BRANCH,
	DUMP_WHY_LINE,
	DUMP_WHY_BLOCK, /* code without a known line */
};

enum dump_why_way { DUMP_WHY_TAKEN, DUMP_WHY_NOT_TAKEN, DUMP_WHY_TO };

/* Values of a branch, line or block on one side. */
struct dump_why_place_sum {
	uint64_t present; /* calls of the function in which it ran */
	uint64_t count;   /* executions: of a branch, or of instructions of a line */
	/* of a line: bounds of its nanoseconds, from the nearest timing packets, and the estimate */
	uint64_t least, most;
	double time;
	/* of a line, with CYC packets: core cycles, and the instructions that these cycles executed */
	double cycles;
	uint64_t cycle_instructions;
};

/* A way of a branch, or a line, or a block. */
struct dump_why_place {
	uint8_t kind;     /* enum dump_why_kind */
	uint32_t image;   /* index in the timeline of an image with the place; FLOW_NONE */
	uint64_t address; /* of the branch, of an instruction of the line, or of the block, in the process */
	uint64_t target;  /* with DUMP_WHY_TO: where the branch leads */
	uint32_t target_image;
	uint8_t way;      /* enum dump_why_way */
	const char *file; /* of a line; lives as long as why->sources */
	uint32_t line;
	uint64_t first; /* instructions of the slow call before the first execution, the least of all slow calls */
	uint64_t last;  /* number of the last call in which it ran, plus one */
	struct dump_why_place_sum sums[DUMP_WHY_SIDES];
};

struct dump_why_event {
	struct ptl_descriptor descriptor;
	const struct ptl_schema *schema; /* or NULL */
	uint64_t count[DUMP_WHY_SIDES];
	uint64_t present[DUMP_WHY_SIDES];
	uint64_t last; /* number of the last call with such an event, plus one */
};

/* A value of a field of events. */
struct dump_why_value {
	struct ptl_descriptor descriptor;
	const struct ptl_schema *schema;
	uint32_t kind; /* number of the event's kind */
	const struct ptl_field *field;
	char *text;                       /* owned */
	uint64_t present[DUMP_WHY_SIDES]; /* calls with an event that has the value */
	uint64_t last;                    /* number of the last such call, plus one */
};

#define DUMP_WHY_SLOWEST 5.0

struct dump_why_options {
	uint64_t slower_than;         /* nanoseconds; 0: not given */
	double slowest;               /* per cent; 0: the calls that stand out, else DUMP_WHY_SLOWEST */
	const struct query_row *slow; /* the slow calls are those for which it is true; NULL */
	bool by_instructions;
};

struct dump_why {
	/* Set by the caller. */
	struct dump_run *run;
	struct analysis_calls *calls;
	const struct dump_why_options *options;

	struct analysis_call_set set;    /* outermost calls */
	bool by_instructions;            /* the measure: instructions instead of time */
	bool stand_out;                  /* the slow calls stand out from the others */
	uint64_t least_slow;             /* the least value of a slow call */
	uint64_t counts[DUMP_WHY_SIDES]; /* calls */
	/* Calls to open: the slow call, and the other call, that are nearest to the medians of their sides. */
	size_t examples[DUMP_WHY_SIDES];

	struct dump_why_node *nodes;
	size_t node_count, node_capacity;
	uint64_t cut_calls;                  /* calls too deep, or of too many paths, which are part of their callers */
	struct dump_why_function *functions; /* largest excess first */
	size_t function_count, function_capacity;
	struct dump_why_place *branches, *lines; /* most telling first; `lines` has blocks, too */
	size_t branch_count, branch_capacity, line_count, line_capacity;
	bool has_line_times;
	struct dump_why_place_sum all[DUMP_WHY_SIDES]; /* sums over all lines and blocks; without `present` */
	struct dump_why_event *events;
	size_t event_count, event_capacity;
	struct dump_why_value *values; /* most telling first */
	size_t value_count, value_capacity;
	uint64_t value_fields_left_out; /* fields with too many different values, of which the first ones are counted */
	struct flow_sources *sources;
	struct analysis_names names;
};

/*
 * Compares. Returns PTL_MISUSE with a text if one of the sides has no call. Call dump_why_free in any case.
 */
int dump_why_run(struct dump_why *why);
void dump_why_free(struct dump_why *why);

/* The steps of dump_why_run, each in a file of its own. */
int dump_why_choose(struct dump_why *why);
int dump_why_paths(struct dump_why *why);
int dump_why_places(struct dump_why *why);
int dump_why_events(struct dump_why *why);

/* How much larger the share of slow calls with the value is than the share of other calls: -1 to 1. */
double dump_why_value_difference(const struct dump_why *why, const struct dump_why_value *value);

/* The value of a call by the measure. */
uint64_t dump_why_value(const struct dump_why *why, const struct analysis_set_call *call);
/* The mean of a sum over the calls of a side. */
double dump_why_mean(const struct dump_why *why, uint64_t sum, enum dump_why_side side);
/* How much more a slow call has than another call, by the means of these sums over all calls. */
double dump_why_excess(const struct dump_why *why, double slow, double other);
/* The excess of a node by the measure. */
double dump_why_node_excess(const struct dump_why *why, const struct dump_why_node_sum sums[DUMP_WHY_SIDES]);
/*
 * Follows the largest excess down from the function, as long as a callee has at least half of the excess of its caller.
 * Returns the last node.
 */
uint32_t dump_why_path(const struct dump_why *why);

#endif
