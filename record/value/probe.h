/* SPDX-License-Identifier: BSD-2-Clause */
/* --values of native programs: uprobes at the places of plans, and events of their samples. */
#ifndef RECORD_VALUE_PROBE_H
#define RECORD_VALUE_PROBE_H

#include <ptl/event.h>

#include "common/text/string_list.h"
#include "record/capture/capture.h"

struct value_probes;

/* A probe for the caller to create. The strings are valid during the call. */
struct value_probe_request {
	unsigned number;
	const char *name; /* of the function, or FUNCTION__return */
	const char *path;
	const uint64_t *offsets; /* places in the file */
	size_t offset_count;
	const char *arguments; /* of all places; the number of the place, " place=\\0:u16", is added */
};

/* PTL_MISUSE: a text is no specification; PTL_NO_MEMORY. */
int value_probes_new(const struct common_string_list *texts, struct record_capture *capture,
		     struct value_probes **probes);
void value_probes_free(struct value_probes *probes);
/* Returns the path in a specification, by index; NULL: none. *more: specifications follow. */
const char *value_probes_path(const struct value_probes *probes, size_t index, bool *more);

/*
 * Calls `create` for each probe of the file's functions that --values names. Prints warnings for values that uprobes do
 * not read. Returns the error of `create`; PTL_NO_MEMORY.
 */
int value_probes_file(struct value_probes *probes, const char *path,
		      int (*create)(void *context, const struct value_probe_request *request), void *context);
/* Reads the layout of a probe's samples from its format. False: the format has other fields. */
bool value_probes_format(struct value_probes *probes, unsigned number, const char *format);
/*
 * Makes id, provider, level and payload of a sample's event. The payload is valid until the next call.
 * Returns 1; 0: no event, because the function goes on; PTL_CORRUPT: the sample does not fit; PTL_NO_MEMORY.
 */
int value_probes_event(struct value_probes *probes, unsigned number, const uint8_t *raw, size_t size,
		       struct ptl_event *event);
/* Prints which functions no file had. */
void value_probes_finish(const struct value_probes *probes);

#endif
