/* SPDX-License-Identifier: BSD-2-Clause */
/* Guesses missing images by mappings at other times, in other processes, or nearby. */
#include "analysis/lint/missing_image.h"

#include "common/text/text.h"

#define KERNEL ((uint64_t)1 << 63)
#define VSYSCALL 0xffffffffff600000u
#define NEAR ((uint64_t)16 << 20) /* bytes */

/* Likelihood of a guess, in ascending order. */
enum likeness { NOTHING, BEHIND, ELSEWHERE, ANOTHER_TIME };

struct guess {
	enum likeness likeness;
	const struct flow_timeline_image *image;
	uint64_t distance; /* bytes after the image's end; only for BEHIND */
};

static struct guess guess_of(const struct flow_timeline_image *image, const struct analysis_unmapped *range)
{
	const uint64_t base = image->data.base, size = image->data.size;
	struct guess guess = {.image = image};

	if (range->first < base)
		return guess;
	if (range->first - base < size)
		guess.likeness = image->process == range->process ? ANOTHER_TIME : ELSEWHERE;
	else if (image->process == range->process && range->first - base - size < NEAR)
		guess = (struct guess){BEHIND, image, range->first - base - size};
	return guess;
}

static bool is_better(const struct guess *guess, const struct guess *best)
{
	if (guess->likeness != best->likeness)
		return guess->likeness > best->likeness;
	return guess->likeness == BEHIND && guess->distance < best->distance;
}

static void add_guess(struct ptl_bytes *text, const struct guess *guess)
{
	common_text_safe(text, guess->image->data.file_name);
	if (guess->likeness == ANOTHER_TIME)
		common_text_add(text, ", which was mapped there at another time");
	else if (guess->likeness == ELSEWHERE)
		common_text_format(text, ", which process %u had there", guess->image->data.process_id);
	else {
		common_text_add(text, ", which ends ");
		common_text_size(text, guess->distance);
		common_text_add(text, " before it");
	}
}

void analysis_text_missing_image(struct ptl_bytes *text, const struct flow_timeline *timeline,
				 const struct analysis_unmapped *range)
{
	struct guess best = {NOTHING};

	if (range->image != FLOW_NONE) {
		common_text_safe(text, flow_timeline_image(timeline, range->image)->data.file_name);
		common_text_add(text, ", whose code is not in the trace");
		return;
	}
	if (range->first >= VSYSCALL || range->first >= KERNEL) {
		common_text_add(text, range->first >= VSYSCALL ? "[vsyscall]" : "the kernel");
		return;
	}
	for (size_t i = 0; i < flow_timeline_image_count(timeline); i++) {
		const struct guess guess = guess_of(flow_timeline_image(timeline, i), range);

		if (is_better(&guess, &best))
			best = guess;
	}
	if (best.likeness != NOTHING)
		add_guess(text, &best);
}
