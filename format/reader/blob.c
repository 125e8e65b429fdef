/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads blobs: assembles chunks and verifies the hash. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/sha256.h"
#include "format/reader/code_store.h"
#include "format/reader/reader_internal.h"
#include "common/vector.h"

size_t ptl_blob_count(const struct ptl_trace *trace)
{
	return trace->blobs.count;
}

const struct ptl_blob_info *ptl_blob_at(const struct ptl_trace *trace, size_t i)
{
	return i < trace->blobs.count ? &trace->blobs.rows[i].info : NULL;
}

uint32_t ptl_blob_number(const struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE])
{
	const struct common_rows rows = {trace->blobs.rows, sizeof(*trace->blobs.rows), PTL_HASH_SIZE};

	return common_row_index_find(&trace->blobs.index, &rows, hash);
}

const struct ptl_blob_info *ptl_blob_find(const struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE])
{
	const uint32_t number = ptl_blob_number(trace, hash);

	return number == PTL_NO_ID ? NULL : &trace->blobs.rows[number].info;
}

/* ---- pieces ------------------------------------------------------------------------------------------ */

static int add_part(struct ptl_trace *trace, struct format_blob *blob, const struct format_blob_piece *piece)
{
	const uint32_t before = blob->from == FORMAT_BLOB_PARTS ? blob->entry : 0;
	const int status = common_memory_budget_take(&trace->memory_budget, sizeof(*trace->blobs.parts),
						     "pieces of blobs", trace->blobs.part_count + 1);

	if (status)
		return status;
	if (trace->blobs.part_count >= UINT32_MAX ||
	    !common_vector_room(&trace->blobs.parts, trace->blobs.part_count, sizeof(*trace->blobs.parts)))
		return common_fail_memory("pieces of blobs", trace->blobs.part_count * sizeof(*trace->blobs.parts));
	trace->blobs.parts[trace->blobs.part_count++] = (struct format_blob_part){*piece, before};
	blob->entry = (uint32_t)trace->blobs.part_count;
	blob->from = FORMAT_BLOB_PARTS;
	return 0;
}

int format_blob_add_piece(struct ptl_trace *trace, struct format_blob *blob, const struct format_blob_piece *piece)
{
	struct format_blob_piece first;
	uint32_t at = 0;
	int status = 0;

	if (blob->from == FORMAT_BLOB_PARTS && !blob->entry && !piece->offset && piece->length == blob->info.size &&
	    piece->from < FORMAT_BLOB_PARTS) {
		blob->entry = piece->entry;
		blob->from = piece->from;
		return 0;
	}
	if (blob->from != FORMAT_BLOB_PARTS && format_blob_next_piece(trace, blob, &at, &first))
		status = add_part(trace, blob, &first);
	return status ? status : add_part(trace, blob, piece);
}

bool format_blob_next_piece(const struct ptl_trace *trace, const struct format_blob *blob, uint32_t *at,
			    struct format_blob_piece *piece)
{
	if (blob->from != FORMAT_BLOB_PARTS) {
		*piece = (struct format_blob_piece){blob->entry, blob->from, 0, blob->info.size};
		return !(*at)++;
	}
	/* *at: number of the last returned part plus one; 0 after the last part, where the walk ends. */
	*at = *at ? trace->blobs.parts[*at - 1].next : blob->entry;
	if (*at)
		*piece = trace->blobs.parts[*at - 1].piece;
	return *at;
}

bool format_blob_piece_of(const struct ptl_trace *trace, size_t blob, uint32_t *at, struct format_blob_piece *piece)
{
	return format_blob_next_piece(trace, &trace->blobs.rows[blob], at, piece);
}

static int by_offset(const void *a, const void *b)
{
	const struct format_blob_piece *left = a, *right = b;

	return (left->offset > right->offset) - (left->offset < right->offset);
}

/*
 * Returns the bytes of a piece, valid until ptl_buffer_release of its entry. NULL for an empty piece, which must not be
 * released.
 */
static int acquire_piece(struct ptl_trace *trace, const struct format_blob_piece *piece, const uint8_t **bytes)
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

/* Whether the piece is a whole buffer. Then no other blob uses the buffer, and caching the buffer is useless. */
static bool is_whole_buffer(const struct ptl_trace *trace, const struct format_blob_piece *piece)
{
	const struct ptl_buffer *buffer = ptl_buffer_at(trace, piece->entry);

	return buffer && piece->length && piece->length == buffer->raw_size;
}

static int copy_piece(struct ptl_trace *trace, const struct format_blob_piece *piece, uint8_t *out)
{
	const uint8_t *bytes;
	int status;

	if (is_whole_buffer(trace, piece))
		return ptl_buffer_read_into(trace, piece->entry, out + piece->offset, piece->length);
	status = acquire_piece(trace, piece, &bytes);
	if (!bytes)
		return status;
	memcpy(out + piece->offset, bytes, piece->length);
	ptl_buffer_release(trace, piece->entry);
	return 0;
}

/* Returns the pieces in order of offset, in new memory. PTL_CORRUPT unless they cover the blob exactly. */
static int sort_pieces(const struct ptl_trace *trace, const struct format_blob *blob, struct format_blob_piece **sorted,
		       size_t *count)
{
	struct format_blob_piece *pieces, piece;
	uint64_t end = 0;
	size_t n = 0;

	for (uint32_t at = 0; format_blob_next_piece(trace, blob, &at, &piece);)
		n++;
	pieces = malloc((n + 1) * sizeof(*pieces));
	if (!pieces)
		return common_fail_memory("a blob", n * sizeof(*pieces));
	n = 0;
	for (uint32_t at = 0; format_blob_next_piece(trace, blob, &at, &piece);)
		pieces[n++] = piece;
	qsort(pieces, n, sizeof(*pieces), by_offset);
	for (size_t i = 0; i < n; i++) {
		if (pieces[i].offset != end) {
			free(pieces);
			return common_fail(PTL_CORRUPT, "bytes of the blob are missing or there twice");
		}
		end += pieces[i].length;
	}
	if (end != blob->info.size) {
		free(pieces);
		return common_fail(PTL_CORRUPT, "the end of the blob is missing");
	}
	*sorted = pieces;
	*count = n;
	return 0;
}

/* Adds the bytes of a piece to a hash. */
static int hash_piece(struct ptl_trace *trace, const struct format_blob_piece *piece, struct common_sha256 *hash,
		      struct ptl_bytes *scratch)
{
	const uint8_t *bytes;
	int status;

	if (is_whole_buffer(trace, piece)) {
		scratch->size = 0;
		if (!common_bytes_grow(scratch, piece->length))
			return common_fail_memory("a buffer", piece->length);
		status = ptl_buffer_read_into(trace, piece->entry, scratch->data, piece->length);
		if (!status)
			common_sha256_add(hash, scratch->data, piece->length);
		return status;
	}
	status = acquire_piece(trace, piece, &bytes);
	if (!bytes)
		return status;
	common_sha256_add(hash, bytes, piece->length);
	ptl_buffer_release(trace, piece->entry);
	return 0;
}

int format_blob_check(struct ptl_trace *trace, const struct format_blob *blob)
{
	struct common_sha256 *hash = common_sha256_new();
	struct format_blob_piece *pieces = NULL;
	struct ptl_bytes scratch = {0};
	uint8_t digest[COMMON_SHA256_SIZE];
	size_t count = 0;
	int status = hash ? sort_pieces(trace, blob, &pieces, &count) : common_fail_memory("a hash", 0);

	for (size_t i = 0; !status && i < count; i++)
		status = hash_piece(trace, &pieces[i], hash, &scratch);
	if (!status) {
		common_sha256_finish(hash, digest);
		if (memcmp(digest, blob->info.hash, PTL_HASH_SIZE) != 0)
			status = common_fail(PTL_CORRUPT, "the blob's hash differs");
	}
	free(pieces);
	common_bytes_free(&scratch);
	common_sha256_free(hash);
	return status;
}

int format_blob_verify(struct ptl_trace *trace, size_t blob)
{
	return format_blob_check(trace, &trace->blobs.rows[blob]);
}

static int read_blob(struct ptl_trace *trace, const struct format_blob *blob, uint8_t *out)
{
	struct format_blob_piece *pieces = NULL;
	uint8_t digest[COMMON_SHA256_SIZE];
	size_t count;
	int status = sort_pieces(trace, blob, &pieces, &count);

	if (status)
		return status;
	for (size_t i = 0; i < count && !status; i++)
		status = copy_piece(trace, &pieces[i], out);
	free(pieces);
	if (!status) {
		common_sha256_of(out, blob->info.size, digest);
		if (memcmp(digest, blob->info.hash, PTL_HASH_SIZE) != 0)
			status = common_fail(PTL_CORRUPT, "the blob's hash differs");
	}
	return status == PTL_TRUNCATED || status == PTL_UNSUPPORTED ? PTL_CORRUPT : status;
}

/* ---- whole blobs -------------------------------------------------------------------------------------- */

/* Blobs up to this size are allowed in any file, as pages of zeros take almost no space in the file. */
#define BLOB_ANYWHERE (UINT64_C(64) << 20)

/* Checks that the memory for a whole blob is in proportion to the file's size, unless the trace is trusted. */
static int check_size(struct ptl_trace *trace, struct format_blob *blob)
{
	const uint64_t size = blob->info.size;
	bool known;

	if (size <= BLOB_ANYWHERE || trace->max_expansion == UINT32_MAX || size / trace->max_expansion <= trace->size)
		return 0;
	known = __atomic_exchange_n(&blob->refused, true, __ATOMIC_RELAXED);
	common_fail(PTL_CORRUPT,
		    "a blob has %llu bytes, more than %u times the file; --max-expansion allows more, if the trace is "
		    "to be "
		    "trusted",
		    (unsigned long long)size, (unsigned)trace->max_expansion);
	if (!known)
		format_damage_add(trace, trace->size, 0, PTL_CORRUPT, PTL_NO_ID, "%s", ptl_error_text());
	return PTL_CORRUPT;
}

/* Finds a blob of at most `limit` bytes. */
static int find_blob(struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE], size_t limit,
		     const struct format_blob **blob)
{
	const uint32_t number = ptl_blob_number(trace, hash);
	char text[COMMON_SHA256_TEXT_SIZE];

	if (number != PTL_NO_ID && trace->blobs.rows[number].info.size <= limit) {
		*blob = &trace->blobs.rows[number];
		return check_size(trace, &trace->blobs.rows[number]);
	}
	common_sha256_format(hash, text);
	if (number == PTL_NO_ID)
		return common_fail(PTL_NOT_FOUND, "there is no blob %s", text);
	return common_fail(PTL_NO_MEMORY, "blob %s has %llu bytes, more than %zu", text,
			   (unsigned long long)trace->blobs.rows[number].info.size, limit);
}

static int read_found(struct ptl_trace *trace, const struct format_blob *blob, uint8_t *out, size_t *size)
{
	const int status = read_blob(trace, blob, out);
	char text[COMMON_SHA256_TEXT_SIZE];

	if (status) {
		common_sha256_format(blob->info.hash, text);
		return common_fail_in(status, "blob %s", text);
	}
	*size = blob->info.size;
	return 0;
}

/* Whether a blob comes from a store: a store is set, and the trace lacks the blob. */
static bool is_in_store(const struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE])
{
	return trace->code_store && ptl_blob_number(trace, hash) == PTL_NO_ID;
}

int ptl_blob_read(struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE], size_t limit, uint8_t **data,
		  size_t *size)
{
	const struct format_blob *blob;
	uint8_t *out;
	int status = is_in_store(trace, hash) ? format_code_store_read(trace, hash, limit, data, size) : PTL_NOT_FOUND;

	if (status)
		*data = NULL;
	if (status != PTL_NOT_FOUND)
		return status;
	status = find_blob(trace, hash, limit, &blob);
	if (status)
		return status;
	out = malloc(blob->info.size + 1);
	if (!out)
		return common_fail_memory("a blob", blob->info.size);
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
	const struct format_blob *blob;
	int status = is_in_store(trace, hash) ? format_code_store_read_into(trace, hash, out, room, size)
					      : PTL_NOT_FOUND;

	if (status != PTL_NOT_FOUND)
		return status;
	status = find_blob(trace, hash, room, &blob);
	return status ? status : read_found(trace, blob, out, size);
}
