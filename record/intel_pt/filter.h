/* SPDX-License-Identifier: BSD-2-Clause */
/* Address filters: select the recorded code. */
#ifndef RECORD_INTEL_PT_FILTER_H
#define RECORD_INTEL_PT_FILTER_H

#include "record/capture/settings.h"
#include "record/intel_pt/device.h"

/*
 * Makes the text for PERF_EVENT_IOC_SET_FILTER of settings->filters, with symbols resolved to offsets. *filter: fresh
 * memory, or NULL without filters.
 * Fails with PTL_MISUSE for an invalid filter; PTL_UNSUPPORTED for more filters than the CPU has; PTL_SYSTEM or
 * PTL_NOT_FOUND for a missing file or symbol.
 */
int intel_pt_filter_make(const struct intel_pt_device *device, const struct record_pt_settings *settings,
			 char **filter);

/*
 * Finds the file, in fresh memory, and the function's offset of "FUNCTION @ FILE" or "OFFSET @ FILE". Fails as
 * intel_pt_filter_make.
 */
int intel_pt_function_find(const char *text, char **path, uint64_t *offset);

#endif
