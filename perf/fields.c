/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes records by a table of layouts. */
#include "perf/fields.h"

#include <string.h>

#include "common/bytes.h"
#include "perf/layout.h"

/* A field of the record. `bytes` stands in the record, `member` is where the value goes; NOWHERE skips the field. */
struct layout_field {
	uint8_t bytes;
	uint8_t width; /* bytes of the member */
	uint16_t member;
};

#define NOWHERE UINT16_MAX
#define TO(bytes, member)                                                                                              \
	{                                                                                                              \
		bytes, sizeof(((struct perf_fields *)0)->member), offsetof(struct perf_fields, member)                 \
	}
#define SKIP(bytes)                                                                                                    \
	{                                                                                                              \
		bytes, 0, NOWHERE                                                                                      \
	}
#define END                                                                                                            \
	{                                                                                                              \
		0                                                                                                      \
	}

static const struct layout_field thread_fields[] = {TO(4, pid), TO(4, tid), END};
static const struct layout_field task_fields[] = {TO(4, pid),        TO(4, parent_pid), TO(4, tid),
						  TO(4, parent_tid), TO(8, time),       END};
static const struct layout_field map_fields[] = {TO(4, pid),  TO(4, tid),         TO(8, base),
						 TO(8, size), TO(8, file_offset), END};
static const struct layout_field map2_fields[] = {TO(4, pid),
						  TO(4, tid),
						  TO(8, base),
						  TO(8, size),
						  TO(8, file_offset),
						  TO(4, device_major),
						  TO(4, device_minor),
						  TO(8, inode),
						  SKIP(8),
						  TO(4, protection),
						  SKIP(4),
						  END};
/* MMAP2 with a build id of up to 20 bytes in place of device and inode. */
static const struct layout_field map2_id_fields[] = {TO(4, pid),
						     TO(4, tid),
						     TO(8, base),
						     TO(8, size),
						     TO(8, file_offset),
						     TO(1, build_id_size),
						     SKIP(3),
						     SKIP(PERF_BUILD_ID_MAX),
						     TO(4, protection),
						     SKIP(4),
						     END};
static const struct layout_field lost_fields[] = {TO(8, id), TO(8, lost), END};
static const struct layout_field lost_samples_fields[] = {TO(8, lost), END};
static const struct layout_field throttle_fields[] = {TO(8, time), TO(8, id), SKIP(8), END};
static const struct layout_field aux_fields[] = {TO(8, aux_offset), TO(8, size), TO(8, aux_flags), END};
static const struct layout_field symbol_fields[] = {TO(8, base), TO(4, size), TO(2, kind), TO(2, flags), END};
static const struct layout_field bpf_fields[] = {TO(2, kind), TO(2, flags), TO(4, id), SKIP(8), END};
static const struct layout_field id_fields[] = {TO(8, id), END};
static const struct layout_field poke_fields[] = {TO(8, base), TO(2, old_size), TO(2, new_size), END};

enum behind { NOTHING, NAME, CODE };

#define MAP2_ID_AT 36 /* offset of the build id's bytes */

/* Layouts by type, and what follows the fields. */
static const struct {
	const struct layout_field *fields;
	enum behind behind;
} layouts[] = {
	[PERF_RECORD_MMAP] = {map_fields, NAME},
	[PERF_RECORD_LOST] = {lost_fields, NOTHING},
	[PERF_RECORD_COMM] = {thread_fields, NAME},
	[PERF_RECORD_EXIT] = {task_fields, NOTHING},
	[PERF_RECORD_THROTTLE] = {throttle_fields, NOTHING},
	[PERF_RECORD_UNTHROTTLE] = {throttle_fields, NOTHING},
	[PERF_RECORD_FORK] = {task_fields, NOTHING},
	[PERF_RECORD_MMAP2] = {map2_fields, NAME},
	[PERF_RECORD_AUX] = {aux_fields, NOTHING},
	[PERF_RECORD_ITRACE_START] = {thread_fields, NOTHING},
	[PERF_RECORD_LOST_SAMPLES] = {lost_samples_fields, NOTHING},
	[PERF_RECORD_SWITCH_CPU_WIDE] = {thread_fields, NOTHING},
	[PERF_RECORD_KSYMBOL] = {symbol_fields, NAME},
	[PERF_RECORD_BPF_EVENT] = {bpf_fields, NOTHING},
	[PERF_RECORD_CGROUP] = {id_fields, NAME},
	[PERF_RECORD_TEXT_POKE] = {poke_fields, CODE},
	[PERF_RECORD_AUX_OUTPUT_HW_ID] = {id_fields, NOTHING},
};

static void read_layout(struct common_cursor *cursor, const struct layout_field *field, struct perf_fields *fields)
{
	for (; field->bytes; field++) {
		const uint8_t *data = common_read_bytes(cursor, field->bytes);

		if (data && field->member != NOWHERE)
			common_store_le((uint8_t *)fields + field->member, common_load_le(data, field->bytes),
					field->width);
	}
}

static void read_name(struct common_cursor *cursor, struct perf_fields *fields)
{
	const size_t left = common_cursor_left(cursor);

	fields->name = (const char *)common_read_bytes(cursor, left);
	fields->name_size = fields->name ? strnlen(fields->name, left) : 0;
	fields->name_ends = fields->name_size < left;
}

bool perf_fields_read(uint32_t type, uint16_t misc, const void *body, size_t size, struct perf_fields *fields)
{
	struct common_cursor cursor = common_cursor(body, size);
	const bool has_id = type == PERF_RECORD_MMAP2 && misc & PERF_MISC_MMAP_BUILD_ID;

	*fields = (struct perf_fields){0};
	if (type >= sizeof(layouts) / sizeof(layouts[0]) || !layouts[type].fields)
		return false;
	read_layout(&cursor, has_id ? map2_id_fields : layouts[type].fields, fields);
	if (layouts[type].behind == NAME)
		read_name(&cursor, fields);
	if (layouts[type].behind == CODE) {
		fields->old_code = common_read_bytes(&cursor, fields->old_size);
		fields->code = common_read_bytes(&cursor, fields->new_size);
	}
	if (has_id && !cursor.failed)
		fields->build_id = cursor.data + MAP2_ID_AT;
	return !cursor.failed && fields->build_id_size <= PERF_BUILD_ID_MAX;
}
