/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared output of timeline formats: names, tracks, unwritten bytes. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text/text.h"
#include "common/vector.h"
#include "dump/export/timeline/timeline.h"

#define FLUSH_BYTES ((size_t)64 << 10)

int dump_timeline_track(struct dump_timeline_output *output, uint32_t pid, uint32_t tid, uint32_t *track)
{
	const size_t count = output->track_count ? output->track_count : 1;
	const int status = COMMON_VECTOR_RESERVE(output->tracks, output->track_capacity, count + 1, "tracks");

	if (status < 0)
		return status;
	output->tracks[count] = (struct dump_timeline_track){pid, tid};
	output->track_count = count + 1;
	*track = (uint32_t)count;
	return 0;
}

int dump_timeline_name(struct dump_timeline_output *output, const char *words, uint32_t *name)
{
	const uint64_t *known = common_byte_map_get(&output->by_name, words, strlen(words));
	char *copy;
	int status;

	if (known) {
		*name = (uint32_t)*known;
		return 0;
	}
	status = COMMON_VECTOR_RESERVE(output->names, output->name_capacity, output->name_count + 1, "names");
	if (status < 0)
		return status;
	copy = strdup(words);
	if (!copy)
		return common_fail_memory("names", strlen(words));
	*name = (uint32_t)output->name_count;
	output->names[output->name_count++] = copy;
	return common_byte_map_put(&output->by_name, words, strlen(words), *name);
}

int dump_timeline_flush(struct dump_timeline_output *output, bool all)
{
	if (output->bytes.failed)
		return common_fail_memory("the timeline", output->bytes.size);
	if (!all && output->bytes.size < FLUSH_BYTES)
		return 0;
	common_text_write(&output->bytes, output->run->out);
	output->written += output->bytes.size;
	output->bytes.size = 0;
	return dump_output_check(output->run);
}

void dump_timeline_output_free(struct dump_timeline_output *output)
{
	for (size_t i = 0; i < output->name_count; i++)
		free(output->names[i]);
	free(output->names);
	free(output->tracks);
	free(output->interned);
	common_byte_map_free(&output->by_name);
	common_bytes_free(&output->bytes);
	common_bytes_free(&output->packet);
	common_bytes_free(&output->message);
	common_bytes_free(&output->inner);
}
