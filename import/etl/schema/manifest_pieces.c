/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts the pieces of EventSource's manifests together. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text/guid.h"
#include "common/vector.h"
#include "import/etl/schema/manifest.h"

#define HEADER 8u /* bytes in front of a piece: format, version, magic, how many pieces, which one */
#define FORMAT 1u
#define MAGIC 0x5bu
#define COUNT_MAX 256u
#define BYTES_MAX (32u << 20)

struct etl_piece {
	struct ptl_guid provider;
	uint32_t pid;
	uint16_t count, next;
	struct ptl_bytes text;
};

void etl_pieces_free(struct etl_pieces *pieces)
{
	for (size_t i = 0; i < pieces->count; i++)
		common_bytes_free(&pieces->list[i].text);
	free(pieces->list);
	*pieces = (struct etl_pieces){0};
}

static struct etl_piece *find(struct etl_pieces *pieces, const struct etl_record *record)
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
	piece = find(pieces, record);
	if (!piece || number >= count || pieces->bytes + record->payload_size > BYTES_MAX)
		return 0;
	if (number == 0) {
		pieces->bytes -= piece->text.size;
		piece->text.size = 0;
		piece->count = count;
		piece->next = 0;
	}
	if (number != piece->next || count != piece->count)
		return 0;
	piece->next++;
	common_write_bytes(&piece->text, data + HEADER, record->payload_size - HEADER);
	pieces->bytes += record->payload_size - HEADER;
	if (piece->text.failed)
		return common_fail_memory("a manifest", piece->text.size);
	if (piece->next < piece->count)
		return 0;
	status = etl_manifest_read(known, writer, (const char *)piece->text.data, piece->text.size);
	pieces->bytes -= piece->text.size;
	common_bytes_free(&piece->text);
	piece->next = piece->count = 0;
	return status;
}
