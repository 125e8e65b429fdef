/* SPDX-License-Identifier: BSD-2-Clause */
/* Stores a part of a file as a blob: hashed first, as each chunk names the whole, then read again to be written. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/file.h"
#include "common/sha256.h"
#include "format/writer_internal.h"

#define PIECE_SIZE ((size_t)256 << 10)

/* Looks at the bytes, and writes them where a chunk is given. */
static int read_through(struct ptl_writer *writer, int fd, uint64_t offset, uint64_t size, struct ptl_chunk *chunk,
			uint8_t hash[PTL_HASH_SIZE])
{
	struct ptl_sha256 *sum = ptl_sha256_new();
	uint8_t *data = malloc(PIECE_SIZE);
	int status = sum && data ? 0 : ptl_fail_memory("a piece of a file", PIECE_SIZE);

	for (uint64_t at = 0; !status && at < size; at += PIECE_SIZE) {
		const size_t n = size - at < PIECE_SIZE ? (size_t)(size - at) : PIECE_SIZE;

		status = ptl_read_at(fd, data, n, offset + at);
		if (status)
			break;
		ptl_sha256_add(sum, data, n);
		if (!chunk)
			continue;
		chunk->offset = at;
		chunk->length = n;
		status = ptl_writer_chunk(writer, chunk, data);
	}
	if (!status)
		ptl_sha256_finish(sum, hash);
	ptl_sha256_free(sum);
	free(data);
	return status;
}

int ptl_writer_blob_file(struct ptl_writer *writer, uint32_t type, int fd, uint64_t offset, uint64_t size,
			 uint8_t hash[PTL_HASH_SIZE])
{
	struct ptl_chunk chunk = {.type = type, .blob_size = size};
	uint8_t again[PTL_HASH_SIZE];
	int status;

	if (!size)
		return ptl_writer_blob(writer, type, "", 0, hash);
	if (offset > UINT64_MAX - size)
		return ptl_fail(PTL_TRUNCATED, "the file has no bytes at offset %llu", (unsigned long long)offset);
	status = read_through(writer, fd, offset, size, NULL, hash);
	if (status || ptl_writer_has_blob(writer, hash))
		return status;
	memcpy(chunk.hash, hash, PTL_HASH_SIZE);
	status = read_through(writer, fd, offset, size, &chunk, again);
	if (!status && memcmp(hash, again, PTL_HASH_SIZE) != 0)
		status = ptl_fail(PTL_CORRUPT, "the file was changed while it was read");
	return status;
}
