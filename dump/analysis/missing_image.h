/* SPDX-License-Identifier: BSD-2-Clause */
/* Guesses the image of code at an unmapped address. */
#ifndef DUMP_ANALYSIS_MISSING_IMAGE_H
#define DUMP_ANALYSIS_MISSING_IMAGE_H

#include "common/bytes.h"
#include "flow/view/unmapped.h"

/*
 * Appends a guess with its reason, safe for a terminal: "libfoo.so, which was mapped there at another time". Appends
 * nothing without a plausible image. Walks all images.
 */
void dump_text_missing_image(struct ptl_bytes *text, const struct flow_timeline *timeline,
			     const struct flow_unmapped *range);

#endif
