/* SPDX-License-Identifier: BSD-2-Clause */
/* Images of the selection. */
#include "analysis/input/input.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/text/nearest.h"
#include "common/text/text.h"

bool analysis_filter_is_narrowed(const struct analysis_filter *filter)
{
	return filter->pids.count || filter->tids.count || filter->cpus.count || filter->images.count;
}

/* Fails for a pattern without a matching image. */
static int fail_image(const struct analysis_input *input, const struct flow_timeline *timeline, const char *pattern)
{
	struct common_nearest nearest = {.word = pattern};

	for (size_t i = 0; i < flow_timeline_image_count(timeline); i++)
		common_nearest_look(&nearest, common_base_name(flow_timeline_image(timeline, i)->data.file_name));
	return common_fail(PTL_MISUSE,
			   "--image: no image in %s is called '%s'%s; 'ptl-dump images' lists "
			   "them, and patterns may have * and ?",
			   input->path, pattern, common_nearest_question(&nearest));
}

int analysis_input_check_images(const struct analysis_input *input, const struct flow_timeline *timeline)
{
	const struct common_string_list *patterns = &input->filter->images;
	const size_t count = flow_timeline_image_count(timeline);

	for (size_t i = 0; i < patterns->count; i++) {
		size_t k = 0;

		while (k < count &&
		       !analysis_filter_image_is(patterns->list[i], flow_timeline_image(timeline, k)->data.file_name))
			k++;
		if (k == count)
			return fail_image(input, timeline, patterns->list[i]);
	}
	return 0;
}

int analysis_input_images(const struct analysis_input *input, const struct flow_timeline *timeline, bool **wanted)
{
	const struct analysis_filter *filter = input->filter;
	const size_t count = flow_timeline_image_count(timeline);

	*wanted = NULL;
	if (!filter->images.count)
		return 0;
	*wanted = calloc(count + 1, sizeof(**wanted));
	if (!*wanted)
		return common_fail_memory("images", count);
	for (size_t i = 0; i < count; i++)
		(*wanted)[i] = analysis_filter_wants_image(filter, flow_timeline_image(timeline, i)->data.file_name);
	return 0;
}
