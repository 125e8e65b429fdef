/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes that programs were compiled with. */
#ifndef RECORD_KERNEL_EVENT_SDT_H
#define RECORD_KERNEL_EVENT_SDT_H

#include <stdbool.h>

/*
 * Prints the probes of a program or library, one per line or as JSON.
 * Errors: PTL_SYSTEM, PTL_NOT_OURS, PTL_CORRUPT, PTL_NOT_FOUND.
 */
int kernel_event_sdt_list(const char *path, bool as_json);

#endif
