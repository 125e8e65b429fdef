/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes events of the PTWRITE packets at the sites of ptwrite statements. */
#ifndef RELOG_RULES_PTWRITE_H
#define RELOG_RULES_PTWRITE_H

#include <ptl/relogger.h>

#include "relog/rules/ast.h"

struct rules_ptwrites;

/* rules must outlive *ptwrites. Returns PTL_NO_MEMORY. */
int rules_ptwrites_new(struct rules *rules, struct rules_ptwrites **ptwrites);
void rules_ptwrites_free(struct rules_ptwrites *ptwrites);

/*
 * Decodes the flow of all inputs. Completes the schemas of the rules: providers, and functions of the sites. Call in `begin`,
 * before the schemas are written. Returns PTL_NO_MEMORY, or an error of reading.
 */
int rules_ptwrites_read(struct rules_ptwrites *ptwrites, struct ptl_relogger *relogger);
/* Injects the events before a time, in order; UINT64_MAX: all events. Returns the errors of the relogger. */
int rules_ptwrites_inject(struct rules_ptwrites *ptwrites, struct ptl_relogger *relogger, uint64_t time);

/* Numbers of PTWRITE packets. */
struct rules_ptwrite_counts {
	uint64_t made;      /* became events */
	uint64_t misfits;   /* at a site of a rule whose fields do not fit the operand */
	uint64_t untimed;   /* of `made`: the time is unknown */
	uint64_t unnamed;   /* at no site of a rule */
	uint64_t unlocated; /* the flow does not tell the instruction */
};
/* Returns the sums over all rules. */
struct rules_ptwrite_counts rules_ptwrites_counts(const struct rules_ptwrites *ptwrites);
/* Returns the counts of the statement with this index: made, misfits and untimed. */
struct rules_ptwrite_counts rules_ptwrites_counts_of(const struct rules_ptwrites *ptwrites, size_t index);
/* Whether the statement made events, and the trace has a schema of such events: an earlier run may have made them, too. */
bool rules_ptwrites_repeated(const struct rules_ptwrites *ptwrites, size_t index, struct ptl_trace *trace);
/*
 * Calls report with a text for each site at which no PTWRITE was executed. A result of report other than 0 ends the calls. For
 * `end`. Returns the result of the last call.
 */
int rules_ptwrites_report(const struct rules_ptwrites *ptwrites,
			  int (*report)(void *context, const struct query_place *at, const char *text), void *context);

#endif
