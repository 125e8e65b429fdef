/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes the kernel provider's classes as written by Windows: versions 0 to 4, with 64-bit pointers. */
#ifndef FORMAT_EVENT_KERNEL_ETW_H
#define FORMAT_EVENT_KERNEL_ETW_H

#include <ptl/kernel.h>

#include "common/bytes.h"

/* First version of PTL's own; lower versions are Windows'. */
#define FORMAT_KERNEL_OWN 0x80u

/*
 * Called by the decoders of ptl/kernel.h for an event of the class with a version below FORMAT_KERNEL_OWN. Same results
 * as those decoders, and PTL_NOT_OURS for an opcode of another meaning. Versions above 4 are decoded as version 4,
 * since newer versions append fields.
 */
int format_etw_process_decode(const struct ptl_event *event, struct ptl_bytes *storage, struct ptl_process_event *data);
int format_etw_thread_decode(const struct ptl_event *event, struct ptl_bytes *storage, struct ptl_thread_event *data);
int format_etw_switch_decode(const struct ptl_event *event, struct ptl_switch_event *data);
int format_etw_image_decode(const struct ptl_event *event, struct ptl_bytes *storage, struct ptl_image_event *data);

#endif
