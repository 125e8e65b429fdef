/* SPDX-License-Identifier: BSD-2-Clause */
/* The blobs of the file, by hash. */
#include <string.h>

#include "common/error.h"
#include "common/vector.h"
#include "format/writer/writer_internal.h"

static uint32_t find_blob(const struct ptl_writer *writer, const uint8_t hash[PTL_HASH_SIZE])
{
	const struct common_rows rows = {writer->blobs, sizeof(*writer->blobs), PTL_HASH_SIZE};

	return common_row_index_find(&writer->blob_index, &rows, hash);
}

int format_writer_note_blob(struct ptl_writer *writer, const uint8_t hash[PTL_HASH_SIZE], bool there)
{
	const uint32_t known = find_blob(writer, hash);
	struct common_rows rows = {.size = sizeof(*writer->blobs), .key_size = PTL_HASH_SIZE};
	struct format_written_blob *blob;
	int status;

	if (known != COMMON_NO_ROW) {
		writer->blobs[known].there = there;
		return 0;
	}
	status = common_memory_budget_take(&writer->memory_budget, sizeof(*blob) + 12, "blobs", writer->blob_count + 1);
	if (status)
		return status;
	if (writer->blob_count >= COMMON_NO_ROW ||
	    !common_vector_room(&writer->blobs, writer->blob_count, sizeof(*writer->blobs)))
		return common_fail_memory("blobs", writer->blob_count * sizeof(*writer->blobs));
	blob = &writer->blobs[writer->blob_count];
	memcpy(blob->hash, hash, PTL_HASH_SIZE);
	blob->there = there;
	rows.rows = writer->blobs;
	return common_row_index_add(&writer->blob_index, &rows, (uint32_t)writer->blob_count++);
}

bool format_writer_has_blob(const struct ptl_writer *writer, const uint8_t hash[PTL_HASH_SIZE])
{
	const uint32_t known = find_blob(writer, hash);

	return known != COMMON_NO_ROW && writer->blobs[known].there;
}
