/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of calls: fields of the events of ptl-record --values, for expressions about calls. */
#ifndef ANALYSIS_EVENT_CALL_VALUES_H
#define ANALYSIS_EVENT_CALL_VALUES_H

#include <ptl/reader.h>

#include "query/row.h"

struct analysis_call_values;

/* The call whose values are asked for. */
struct analysis_valued_call {
	const char *function;
	uint32_t tid;
	uint64_t from, to; /* times of begin and end; the events are later than the begin */
};

/*
 * Reads the values that the query names from all events of the trace. *values: NULL if the query names no values.
 * PTL_MISUSE: no event has a value of a name; PTL_NO_MEMORY; the errors of reading. Call analysis_call_values_close in any case.
 */
int analysis_call_values_open(struct ptl_trace *trace, const struct query_row *query,
			      struct analysis_call_values **values);
/* NULL is allowed. */
void analysis_call_values_close(struct analysis_call_values *values);

/*
 * Sets a value of the call: of the first event of arguments, or of the last event of results, of the function's own
 * name. Leaves *value unchanged if the call has no such event. index: in the query's values.
 */
void analysis_call_values_get(const struct analysis_call_values *values, const struct analysis_valued_call *call,
			      unsigned index, struct query_value *value);

#endif
