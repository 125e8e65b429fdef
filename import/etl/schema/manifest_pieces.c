/* SPDX-License-Identifier: BSD-2-Clause */
/* Assembles the pieces of EventSource's manifests. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text/guid.h"
#include "common/vector.h"
#include "import/etl/schema/manifest.h"

#define HEADER 8u /* bytes before a piece: format, version, magic, number of pieces, index of the piece */
#define FORMAT 1u
#define MAGIC 0x5bu
#define COUNT_MAX 256u
#define BYTES_MAX (32u << 20)

/* An incomplete manifest. Its pieces may lie in buffers of several CPUs, and come in any order. */
struct etl_piece {
	struct ptl_guid provider;
	uint32_t pid;
	uint16_t count, have;
	bool was_whole;
	struct ptl_bytes *texts; /* by index; owned */
};

static void forget_piece(struct etl_pieces *pieces, struct etl_piece *piece)
{
	for (size_t i = 0; i < piece->count; i++) {
		pieces->bytes -= piece->texts[i].size;
		common_bytes_free(&piece->texts[i]);
	}
	pieces->bytes -= piece->count * sizeof(*piece->texts);
	free(piece->texts);
	piece->texts = NULL;
	piece->count = piece->have = 0;
}

void etl_pieces_free(struct etl_pieces *pieces)
{
	for (size_t i = 0; i < pieces->count; i++)
		forget_piece(pieces, &pieces->list[i]);
	free(pieces->list);
	*pieces = (struct etl_pieces){0};
}

size_t etl_pieces_incomplete(const struct etl_pieces *pieces)
{
	size_t count = 0;

	for (size_t i = 0; i < pieces->count; i++)
		count += pieces->list[i].have && !pieces->list[i].was_whole;
	return count;
}

static struct etl_piece *find_piece(struct etl_pieces *pieces, const struct etl_record *record)
{
	for (size_t i = 0; i < pieces->count; i++)
		if (pieces->list[i].pid == record->pid &&
		    common_guid_equal(&pieces->list[i].provider, &record->descriptor.provider))
			return &pieces->list[i];
	if (pieces->count == COUNT_MAX || !common_vector_room(&pieces->list, pieces->count, sizeof(*pieces->list)))
		return NULL;
	pieces->list[pieces->count] = (struct etl_piece){.provider = record->descriptor.provider, .pid = record->pid};
	return &pieces->list[pieces->count++];
}

/* Allocates room for `count` pieces. Returns false beyond the limit, or without memory; *status tells which. */
static bool begin_pieces(struct etl_pieces *pieces, struct etl_piece *piece, uint16_t count, int *status)
{
	const size_t size = count * sizeof(*piece->texts);

	forget_piece(pieces, piece);
	if (size > BYTES_MAX - pieces->bytes)
		return false;
	piece->texts = calloc(count, sizeof(*piece->texts));
	if (!piece->texts) {
		*status = common_fail_memory("a manifest", size);
		return false;
	}
	piece->count = count;
	pieces->bytes += size;
	return true;
}

/* Reads a complete manifest. */
static int read_whole(struct etl_pieces *pieces, struct etl_piece *piece, struct etl_known *known,
		      struct ptl_writer *writer)
{
	struct ptl_bytes whole = {0};
	int status = 0;

	for (size_t i = 0; i < piece->count; i++)
		if (piece->texts[i].size)
			common_write_bytes(&whole, piece->texts[i].data, piece->texts[i].size);
	if (whole.failed)
		status = common_fail_memory("a manifest", whole.size);
	else if (whole.size)
		status = etl_manifest_read(known, writer, (const char *)whole.data, whole.size);
	common_bytes_free(&whole);
	piece->was_whole = true;
	forget_piece(pieces, piece);
	return status;
}

/*
 * Adds a piece. A manifest may be written again, for example at the end of a session: later pieces replace earlier
 * ones.
 */
static int take_text(struct etl_pieces *pieces, struct etl_piece *piece, uint16_t number, const uint8_t *text,
		     size_t size)
{
	struct ptl_bytes *own = &piece->texts[number];

	if (size > BYTES_MAX - (pieces->bytes - own->size))
		return 0;
	piece->have += !own->data;
	pieces->bytes += size - own->size;
	own->size = 0;
	/* Allocate memory for an empty piece, too, to mark the piece as present. */
	if (!common_bytes_grow(own, size ? size : 1))
		return common_fail_memory("a manifest", size);
	own->size = 0;
	if (size)
		common_write_bytes(own, text, size);
	return 0;
}

int etl_pieces_take(struct etl_pieces *pieces, struct etl_known *known, struct ptl_writer *writer,
		    const struct etl_record *record)
{
	const uint8_t *data = record->payload;
	struct etl_piece *piece;
	uint16_t count, number;
	int status = 0;

	if (record->payload_size < HEADER || data[0] != FORMAT || data[3] != MAGIC)
		return 0;
	count = common_load16(data + 4);
	number = common_load16(data + 6);
	piece = number < count ? find_piece(pieces, record) : NULL;
	if (!piece || (count != piece->count && !begin_pieces(pieces, piece, count, &status)))
		return status;
	status = take_text(pieces, piece, number, data + HEADER, record->payload_size - HEADER);
	return status || piece->have < piece->count ? status : read_whole(pieces, piece, known, writer);
}
