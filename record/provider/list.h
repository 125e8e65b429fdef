/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-record --list-providers. */
#ifndef RECORD_PROVIDER_LIST_H
#define RECORD_PROVIDER_LIST_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Shows which providers are registered now, by process, and which sessions have turned them on; as
 * text, or as one JSON object a process. 0, or a ptl_status.
 */
int record_provider_list(bool json, FILE *file);

#endif
