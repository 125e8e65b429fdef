/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the time of a PSB, from the TSC packet of its PSB+. */
#ifndef IMPORT_PSB_TIME_H
#define IMPORT_PSB_TIME_H

#include <stddef.h>
#include <stdint.h>

#include <ptl/trace.h>

#define IMPORT_PSB_PLUS_MAX 64u /* maximum bytes from the PSB to the end of its TSC packet */

enum import_psb_found {
	IMPORT_PSB_TIMED,
	IMPORT_PSB_TIMELESS,
	IMPORT_PSB_UNFINISHED, /* more bytes are needed */
};

/* Finds the time of a PSB. data begins at the PSB, or just behind the PSB. */
enum import_psb_found import_psb_time(const struct ptl_machine *machine, const uint8_t *data, size_t size,
				      uint64_t *time);

#endif
