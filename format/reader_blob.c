/* SPDX-License-Identifier: BSD-2-Clause */
/* Blobs: put together from their chunks, and verified by their hash. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/sha256.h"
#include "format/reader_internal.h"

size_t ptl_blob_count(const struct ptl_trace *trace)
{
	return trace->blob_count;
}

const struct ptl_blob_info *ptl_blob_at(const struct ptl_trace *trace, size_t i)
{
	return i < trace->blob_count ? &trace->blobs[i].info : NULL;
}

const struct ptl_blob_info *ptl_blob_find(const struct ptl_trace *trace,
					  const uint8_t hash[PTL_HASH_SIZE])
{
	const uint64_t *known = ptl_byte_map_get(&trace->blob_map, hash, PTL_HASH_SIZE);

	return known ? &trace->blobs[*known].info : NULL;
}

static int by_offset(const void *a, const void *b)
{
	const struct ptl_blob_piece *left = a, *right = b;

	return (left->offset > right->offset) - (left->offset < right->offset);
}

/* The bytes of a piece until ptl_buffer_release of its entry; NULL: it has none, and nothing is to be released. */
static int acquire_piece(struct ptl_trace *trace, const struct ptl_blob_piece *piece, const uint8_t **bytes)
{
	const uint8_t *data;
	size_t size;
	int status;

	*bytes = NULL;
	if (!piece->length)
		return 0;
	status = ptl_buffer_acquire(trace, piece->entry, &data, &size);
	if (!status)
		*bytes = data + piece->from;
	return status;
}

static int copy_piece(struct ptl_trace *trace, const struct ptl_blob_piece *piece, uint8_t *out)
{
	const uint8_t *bytes;
	const int status = acquire_piece(trace, piece, &bytes);

	if (!bytes)
		return status;
	memcpy(out + piece->offset, bytes, piece->length);
	ptl_buffer_release(trace, piece->entry);
	return 0;
}

/* The pieces in order of offset, in fresh memory, if they cover the blob exactly. */
static int sort_pieces(const struct ptl_blob *blob, struct ptl_blob_piece **sorted)
{
	struct ptl_blob_piece *pieces = malloc(blob->count * sizeof(*pieces));
	uint64_t end = 0;

	if (!pieces)
		return ptl_fail_memory("a blob", blob->count * sizeof(*pieces));
	memcpy(pieces, blob->pieces, blob->count * sizeof(*pieces));
	qsort(pieces, blob->count, sizeof(*pieces), by_offset);
	for (size_t i = 0; i < blob->count; i++) {
		if (pieces[i].offset != end) {
			free(pieces);
			return ptl_fail(PTL_CORRUPT,
					"bytes of the blob are missing or there twice");
		}
		end += pieces[i].length;
	}
	if (end != blob->info.size) {
		free(pieces);
		return ptl_fail(PTL_CORRUPT, "the end of the blob is missing");
	}
	*sorted = pieces;
	return 0;
}

/* Adds the bytes of a piece to a hash. */
static int hash_piece(struct ptl_trace *trace, const struct ptl_blob_piece *piece, struct ptl_sha256 *hash)
{
	const uint8_t *bytes;
	const int status = acquire_piece(trace, piece, &bytes);

	if (!bytes)
		return status;
	ptl_sha256_add(hash, bytes, piece->length);
	ptl_buffer_release(trace, piece->entry);
	return 0;
}

int ptl_blob_check(struct ptl_trace *trace, const struct ptl_blob *blob)
{
	struct ptl_sha256 *hash = ptl_sha256_new();
	struct ptl_blob_piece *pieces = NULL;
	uint8_t digest[PTL_SHA256_SIZE];
	int status = hash ? sort_pieces(blob, &pieces) : ptl_fail_memory("a hash", 0);

	for (size_t i = 0; !status && i < blob->count; i++)
		status = hash_piece(trace, &pieces[i], hash);
	if (!status) {
		ptl_sha256_finish(hash, digest);
		if (memcmp(digest, blob->info.hash, PTL_HASH_SIZE) != 0)
			status = ptl_fail(PTL_CORRUPT, "the blob's hash differs");
	}
	free(pieces);
	ptl_sha256_free(hash);
	return status;
}

static int read_blob(struct ptl_trace *trace, const struct ptl_blob *blob, uint8_t *out)
{
	struct ptl_blob_piece *pieces = NULL;
	uint8_t digest[PTL_SHA256_SIZE];
	int status = sort_pieces(blob, &pieces);

	if (status)
		return status;
	for (size_t i = 0; i < blob->count && !status; i++)
		status = copy_piece(trace, &pieces[i], out);
	free(pieces);
	if (!status) {
		ptl_sha256_of(out, blob->info.size, digest);
		if (memcmp(digest, blob->info.hash, PTL_HASH_SIZE) != 0)
			status = ptl_fail(PTL_CORRUPT, "the blob's hash differs");
	}
	return status == PTL_TRUNCATED || status == PTL_UNSUPPORTED ? PTL_CORRUPT : status;
}

/* The blob, if it has at most limit bytes. */
static int find_blob(struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE], size_t limit,
		     const struct ptl_blob **blob)
{
	const uint64_t *known = ptl_byte_map_get(&trace->blob_map, hash, PTL_HASH_SIZE);
	char text[PTL_SHA256_TEXT_SIZE];

	if (known && trace->blobs[*known].info.size <= limit) {
		*blob = &trace->blobs[*known];
		return 0;
	}
	ptl_sha256_format(hash, text);
	if (!known)
		return ptl_fail(PTL_NOT_FOUND, "there is no blob %s", text);
	return ptl_fail(PTL_NO_MEMORY, "blob %s has %llu bytes, more than %zu", text,
			(unsigned long long)trace->blobs[*known].info.size, limit);
}

static int read_found(struct ptl_trace *trace, const struct ptl_blob *blob, uint8_t *out, size_t *size)
{
	const int status = read_blob(trace, blob, out);
	char text[PTL_SHA256_TEXT_SIZE];

	if (status) {
		ptl_sha256_format(blob->info.hash, text);
		return ptl_fail_in(status, "blob %s", text);
	}
	*size = blob->info.size;
	return 0;
}

int ptl_blob_read(struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE], size_t limit,
		  uint8_t **data, size_t *size)
{
	const struct ptl_blob *blob;
	uint8_t *out;
	int status = find_blob(trace, hash, limit, &blob);

	if (status)
		return status;
	out = malloc(blob->info.size + 1);
	if (!out)
		return ptl_fail_memory("a blob", blob->info.size);
	status = read_found(trace, blob, out, size);
	if (status)
		free(out);
	else
		*data = out;
	return status;
}

int ptl_blob_read_into(struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE], uint8_t *out, size_t room,
		       size_t *size)
{
	const struct ptl_blob *blob;
	const int status = find_blob(trace, hash, room, &blob);

	return status ? status : read_found(trace, blob, out, size);
}
