/* SPDX-License-Identifier: BSD-2-Clause */
/* Guesses the image of code at an unmapped address. */
#ifndef ANALYSIS_LINT_MISSING_IMAGE_H
#define ANALYSIS_LINT_MISSING_IMAGE_H

#include "analysis/profile/unmapped.h"
#include "common/bytes.h"

/*
 * Appends a guess with its reason, safe for a terminal: "libfoo.so, which was mapped there at another time". Appends
 * nothing without a plausible image. Walks all images.
 */
void analysis_text_missing_image(struct ptl_bytes *text, const struct flow_timeline *timeline,
				 const struct analysis_unmapped *range);

#endif
