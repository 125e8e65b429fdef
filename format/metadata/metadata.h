/* SPDX-License-Identifier: BSD-2-Clause */
/* The records of the METADATA stream: encoders and decoders. */
#ifndef FORMAT_METADATA_METADATA_H
#define FORMAT_METADATA_METADATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <ptl/event.h>
#include <ptl/trace.h>

#include "common/bytes.h"

struct ptl_record;

enum format_record_type {
	FORMAT_RECORD_MACHINE = 1,
	FORMAT_RECORD_STREAM = 2,
	FORMAT_RECORD_SCHEMA = 3,
	FORMAT_RECORD_LOSS = 4,
	FORMAT_RECORD_PROVENANCE = 5,
	FORMAT_RECORD_MAP = 6,
	FORMAT_RECORD_ATTACHMENT = 7,
	FORMAT_RECORD_RECORDING = 8,
	FORMAT_RECORD_TYPES,
};

/* Where the bytes or events of a stream were originally recorded: file, stream and position (docs/format.md 5). */
struct format_origin {
	bool known;
	uint8_t file[16];
	uint32_t stream;
	uint64_t position; /* original position of this stream's position 0 */
};

/* Whether the id of a file or recording is set: not all zero. */
static inline bool format_is_named(const uint8_t name[16])
{
	static const uint8_t none[16];

	return memcmp(name, none, sizeof(none)) != 0;
}

/* Encoders append a record's body. Without memory, they set out->failed. */
void format_machine_encode(const struct ptl_machine *machine, struct ptl_bytes *out);
void format_stream_encode(const struct ptl_stream *stream, struct ptl_bytes *out);
/* Appends the fields of an origin to the body of a stream record. */
void format_origin_encode(const struct format_origin *origin, struct ptl_bytes *out);
void format_schema_encode(const struct ptl_schema *schema, struct ptl_bytes *out);
void format_map_encode(const struct ptl_map *map, struct ptl_bytes *out);
void format_loss_encode(const struct ptl_loss *loss, struct ptl_bytes *out);
void format_provenance_encode(const struct ptl_provenance *provenance, struct ptl_bytes *out);
void format_attachment_encode(const struct ptl_attachment *attachment, struct ptl_bytes *out);
/* Encodes the id of a recording that the file contains completely. */
void format_recording_encode(const uint8_t name[16], struct ptl_bytes *out);

/* Returns a record's contribution to FORMAT_METADATA_ITEMS_MAX: 1, plus its fields, entries or inputs. */
uint64_t format_record_items(uint64_t type, const uint8_t *data, size_t size);

/*
 * Decoders of a body: PTL_CORRUPT, PTL_NO_MEMORY. Free the result with the function next to the decoder. On failure,
 * nothing needs to be freed.
 */
int format_machine_decode(struct common_cursor body, struct ptl_machine *machine);
int format_stream_decode(struct common_cursor body, struct ptl_stream *stream);
/* Decodes the origin in a stream record, if any. PTL_CORRUPT. */
int format_origin_decode(struct common_cursor body, struct format_origin *origin);
int format_schema_decode(struct common_cursor body, struct ptl_schema **schema);
void format_schema_free(struct ptl_schema *schema);
int format_map_decode(struct common_cursor body, struct ptl_map **map);
void format_map_free(struct ptl_map *map);
/* Appends the entries of `from` to `map` and frees `from`. PTL_NO_MEMORY: nothing has changed. */
int format_map_append(struct ptl_map *map, struct ptl_map *from);
/* Sorts entries by value. Of entries with the same value, the first stays. PTL_NO_MEMORY. */
int format_map_sort(struct ptl_map *map);
int format_loss_decode(struct common_cursor body, struct ptl_loss **loss);
void format_loss_free(struct ptl_loss *loss);
/* Returns "events", "thread not traced", ...; never NULL. kind: enum ptl_loss_kind. */
const char *format_loss_name(uint32_t kind);
int format_provenance_decode(struct common_cursor body, struct ptl_provenance **provenance);
void format_provenance_free(struct ptl_provenance *provenance);
int format_attachment_decode(struct common_cursor body, struct ptl_attachment **attachment);
/*
 * Decodes any record: *attachment is NULL if the record is no attachment, or an unreadable attachment. PTL_NO_MEMORY.
 */
int format_attachment_of(const struct ptl_record *record, struct ptl_attachment **attachment);
void format_attachment_free(struct ptl_attachment *attachment);
/* Returns the type of the blob that an attachment of this kind refers to. */
uint32_t format_attachment_blob(uint32_t kind);
int format_recording_decode(struct common_cursor body, uint8_t name[16]);

#endif
