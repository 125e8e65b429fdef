/* SPDX-License-Identifier: BSD-2-Clause */
/* When a PSB was made, by the TSC packet of its PSB+. */
#ifndef IMPORT_PSB_TIME_H
#define IMPORT_PSB_TIME_H

#include <stddef.h>
#include <stdint.h>

#include <ptl/trace.h>

#define IMPORT_PSB_PLUS_MAX 64u /* bytes from a PSB on in which its TSC stands */

enum import_psb_found {
	IMPORT_PSB_TIMED,
	IMPORT_PSB_TIMELESS,
	IMPORT_PSB_UNFINISHED, /* the bytes end before it can be said */
};

/* data begins with the PSB, or behind it. */
enum import_psb_found import_psb_time(const struct ptl_machine *machine, const uint8_t *data, size_t size,
				      uint64_t *time);

#endif
