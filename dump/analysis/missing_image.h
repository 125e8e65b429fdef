/* SPDX-License-Identifier: BSD-2-Clause */
/* Which image the code at an address that nobody knows likely is of. */
#ifndef DUMP_ANALYSIS_MISSING_IMAGE_H
#define DUMP_ANALYSIS_MISSING_IMAGE_H

#include "common/bytes.h"
#include "flow/view/unmapped.h"

/*
 * Appends a guess with its reason, safe for a terminal: "libfoo.so, which was mapped there at another time"; nothing where
 * nothing is like it. Looks at all images.
 */
void dump_text_missing_image(struct ptl_bytes *text, const struct flow_timeline *timeline,
			     const struct flow_unmapped *range);

#endif
