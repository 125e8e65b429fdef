/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel provider's classes as Windows writes them: versions 0 to 4, with pointers of 64 bits. */
#ifndef FORMAT_EVENT_KERNEL_ETW_H
#define FORMAT_EVENT_KERNEL_ETW_H

#include <ptl/kernel.h>

#include "common/bytes.h"

/* Versions from here on are PTL's. */
#define FORMAT_KERNEL_OWN 0x80u

/*
 * The decoders of ptl/kernel.h call these for an event of the class and a version below FORMAT_KERNEL_OWN. What they return,
 * and PTL_NOT_OURS for an opcode of the class that means something else. Later versions are read as the last one
 * known: they add fields at the end.
 */
int format_etw_process_decode(const struct ptl_event *event, struct ptl_bytes *storage, struct ptl_process_event *data);
int format_etw_thread_decode(const struct ptl_event *event, struct ptl_bytes *storage, struct ptl_thread_event *data);
int format_etw_switch_decode(const struct ptl_event *event, struct ptl_switch_event *data);
int format_etw_image_decode(const struct ptl_event *event, struct ptl_bytes *storage, struct ptl_image_event *data);

#endif
