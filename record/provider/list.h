/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-record --list-providers. */
#ifndef RECORD_PROVIDER_LIST_H
#define RECORD_PROVIDER_LIST_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Prints registered providers by process, and the sessions that have turned each provider on: as text, or as a JSON
 * object per process. Returns 0 or a ptl_status.
 */
int record_provider_list(bool json, FILE *file);

#endif
