/* SPDX-License-Identifier: BSD-2-Clause */
/* Address filters: which code is recorded at all. */
#ifndef RECORD_INTEL_PT_FILTER_H
#define RECORD_INTEL_PT_FILTER_H

#include "record/capture/settings.h"
#include "record/intel_pt/device.h"

/*
 * Makes of settings->filters what PERF_EVENT_IOC_SET_FILTER takes, with symbols resolved to offsets in their files;
 * *filter is fresh memory, or NULL where none was asked for. PTL_MISUSE: not a filter; PTL_UNSUPPORTED: more than this CPU
 * has; PTL_SYSTEM, PTL_NOT_FOUND: the file, or the symbol, is not there.
 */
int intel_pt_filter_make(const struct intel_pt_device *device, const struct record_pt_settings *settings,
			 char **filter);

/*
 * Of "FUNCTION @ FILE", or "OFFSET @ FILE": the file, in fresh memory, and the offset of the function in it. As
 * intel_pt_filter_make fails.
 */
int intel_pt_function_find(const char *text, char **path, uint64_t *offset);

#endif
