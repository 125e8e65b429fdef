/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests every field type, from the author's call to the reader's values: with schemas and maps from shared memory, and
 * with libptl's decoders.
 */
#include "tests/unit/session_reader.h"

#include <ptl/provider.h>

#include "common/bytes.h"
#include "format/metadata/fields.h"
#include "format/metadata/metadata.h"

PTL_PROVIDER(test, "Test-Fields");

PTL_MAP(test, colours, "Colour", PTL_MAP_VALUES, {1, "red"}, {2, "green"});
PTL_MAP(test, tasks, "", PTL_MAP_TASKS, {7, "Task7"});

PTL_EVENT(test, none, 1, "None", PTL_LEVEL_ALWAYS, 0, NULL);
PTL_EVENT(test, numbers, 2, "Numbers", PTL_LEVEL_CRITICAL, 1, "{0}", PTL_U8(u8), PTL_I8(i8), PTL_U16(u16), PTL_I16(i16),
	  PTL_U32(u32), PTL_I32(i32), PTL_U64(u64), PTL_I64(i64), PTL_F32(f32), PTL_F64(f64), PTL_BOOL(b8),
	  PTL_BOOL32(b32), PTL_HEX32(hex), PTL_POINTER(pointer), PTL_TIME(time), PTL_WALL_TIME(wall), PTL_ERRNO(error),
	  PTL_U32_MAP(colour, "Colour"));
PTL_EVENT(test, texts, 3, "Texts", PTL_LEVEL_ERROR, 1, NULL, PTL_UTF8(utf8), PTL_UTF16(utf16),
	  PTL_UTF8_COUNTED(counted), PTL_UTF16_COUNTED(counted16), PTL_BYTES(bytes), PTL_GUID_FIELD(guid));
PTL_EVENT(test, arrays, 4, "Arrays", PTL_LEVEL_WARNING, 1, NULL, PTL_ARRAY(U16, fixed, 3), PTL_LIST(I64, list),
	  PTL_STRUCT(point, 2), PTL_I32(x), PTL_I32(y), PTL_U8(last));
PTL_EVENT_FULL(test, full, (65535, 9, 8, PTL_LEVEL_VERBOSE, 200, 7, 0x8000000000000001u, 6, 0),
	       ("Full", "Task7", "Own"), "all of it: {0}", PTL_U8(one));

static char folder[64];
static struct reader reader;

static struct {
	struct provider_shm_record record;
	uint8_t payload[1 << 17];
	unsigned count;
} seen;

static void see(void *context, const struct reader_file *file, uint32_t ring, const struct provider_shm_record *record,
		const uint8_t *payload)
{
	(void)context;
	(void)file;
	(void)ring;
	seen.record = *record;
	seen.count++;
	assert_true(record->payload_size <= sizeof(seen.payload));
	memcpy(seen.payload, payload, record->payload_size);
}

/* Schemas and maps of the only process. */
static struct ptl_schema *schemas[64];
static size_t schema_count, map_count;
static struct ptl_map *maps[8];

static void take_record(struct common_cursor *records)
{
	uint64_t type = common_read_varint(records), size = common_read_varint(records);
	const uint8_t *body = common_read_bytes(records, size);

	assert_non_null(body);
	if (type == FORMAT_RECORD_SCHEMA)
		assert_int_equal(format_schema_decode(common_cursor(body, size), &schemas[schema_count++]), 0);
	else if (type == FORMAT_RECORD_MAP)
		assert_int_equal(format_map_decode(common_cursor(body, size), &maps[map_count++]), 0);
	else
		fail();
}

static void forget_heap(void)
{
	while (schema_count)
		format_schema_free(schemas[--schema_count]);
	while (map_count)
		format_map_free(maps[--map_count]);
}

static void read_heap(void)
{
	DIR *files = opendir(folder);
	struct dirent *entry;

	while ((entry = readdir(files))) {
		struct provider_shm_process header;
		struct provider_shm_chunk chunk;
		char path[512];
		int fd;

		if (strncmp(entry->d_name, "process.", 8) != 0)
			continue;
		reader_path(&reader, entry->d_name, path);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
		for (uint64_t at = PROVIDER_SHM_HEAP_OFFSET; at < header.heap_end; at += chunk.size) {
			uint8_t *data;
			struct common_cursor records;

			assert_int_equal(pread(fd, &chunk, sizeof(chunk), (off_t)at), sizeof(chunk));
			data = malloc(chunk.data_size);
			assert_int_equal(pread(fd, data, chunk.data_size, (off_t)(at + sizeof(chunk))),
					 chunk.data_size);
			records = common_cursor(data, chunk.data_size);
			while (common_cursor_left(&records))
				take_record(&records);
			free(data);
		}
		close(fd);
	}
	closedir(files);
}

static struct ptl_value values[4096];
static size_t value_count;

static int keep(void *context, const struct ptl_value *value)
{
	(void)context;
	if (value_count < sizeof(values) / sizeof(values[0]))
		values[value_count] = *value;
	value_count++;
	return 0;
}

/* Reads an event and decodes the payload by the event's schema. */
static const struct ptl_schema *decode(void)
{
	size_t rest = 1;

	value_count = 0;
	assert_int_equal(reader_drain(&reader), 1);
	for (size_t i = 0; i < schema_count; i++) {
		if (schemas[i]->id != seen.record.id || schemas[i]->version != seen.record.version ||
		    schemas[i]->opcode != seen.record.opcode)
			continue;
		assert_int_equal(
			ptl_payload_decode(schemas[i], seen.payload, seen.record.payload_size, keep, NULL, &rest), 0);
		assert_int_equal(rest, 0);
		return schemas[i];
	}
	fail();
	return NULL;
}

static void numbers_of_every_width(void **state)
{
	const struct ptl_schema *schema;
	int here = 0;

	(void)state;
	numbers(255, -128, 65535, -32768, UINT32_MAX, INT32_MIN, UINT64_MAX, INT64_MIN, 1.5f, -2.25, true, true,
		0xabcdef01, &here, 123, -5, ENOENT, 2);
	schema = decode();
	assert_int_equal(value_count, 18);
	assert_string_equal(schema->event_name, "Numbers");
	assert_string_equal(schema->provider_name, "Test-Fields");
	assert_memory_equal(&schema->provider, &test.guid, sizeof(test.guid));
	assert_int_equal(values[0].u, 255);
	assert_int_equal(values[1].i, -128);
	assert_int_equal(values[2].u, 65535);
	assert_int_equal(values[3].i, -32768);
	assert_true(values[4].u == UINT32_MAX);
	assert_true(values[5].i == INT32_MIN);
	assert_true(values[6].u == UINT64_MAX);
	assert_true(values[7].i == INT64_MIN);
	assert_true(values[8].f == 1.5);
	assert_true(values[9].f == -2.25);
	assert_int_equal(values[10].u, 1);
	assert_int_equal(values[11].u, 1);
	assert_int_equal(values[12].field->format, PTL_FORMAT_HEX);
	assert_true(values[13].u == (uintptr_t)&here);
	assert_int_equal(values[14].u, 123);
	assert_int_equal(values[15].i, -5);
	assert_int_equal(values[16].i, ENOENT);
	assert_string_equal(values[17].field->map, "Colour");
	assert_string_equal(values[17].field->name, "colour");
}

static void texts_empty_invalid_and_huge(void **state)
{
	static const ptl_char16 wide[] = {'W', 0xd83d, 0xde00, 0};
	static char much[70000];
	const struct ptl_guid guid = {{1, 2, 3}};

	(void)state;
	texts("\xff\xfe not UTF-8", wide, "a\0b", 3, wide, 3, "\0\1", 2, &guid);
	decode();
	assert_int_equal(value_count, 6);
	assert_int_equal(values[0].size, 12);
	assert_memory_equal(values[0].bytes, "\xff\xfe not UTF-8", 12);
	assert_int_equal(values[1].size, 6);
	assert_memory_equal(values[1].bytes, wide, 6);
	assert_memory_equal(values[2].bytes, "a\0b", 3);
	assert_int_equal(values[3].size, 6);
	assert_int_equal(values[4].size, 2);
	assert_memory_equal(values[5].bytes, &guid, 16);

	texts(NULL, NULL, NULL, 0, NULL, 0, NULL, 0, &guid);
	decode();
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(values[i].size, 0);

	/* Counted texts are cut at the maximum of their count. */
	texts("", wide, much, sizeof(much), wide, 0, much, 3, &guid);
	decode();
	assert_int_equal(values[2].size, 65535);
	assert_int_equal(values[4].size, 3);
}

static void arrays_and_structures(void **state)
{
	const uint16_t fixed[3] = {1, 2, 65535};
	const int64_t list[2] = {-1, INT64_MAX};

	(void)state;
	arrays(fixed, list, 2, -3, 4, 5);
	decode();
	assert_int_equal(value_count, 9);
	assert_int_equal(values[2].u, 65535);
	assert_int_equal(values[2].index, 2);
	assert_true(values[4].i == INT64_MAX);
	assert_int_equal(values[5].field->type, PTL_TYPE_STRUCT);
	assert_int_equal(values[6].i, -3);
	assert_int_equal(values[6].depth, 1);
	assert_int_equal(values[8].u, 5);
	assert_int_equal(values[8].depth, 0);
	arrays(fixed, NULL, 0, 1, 1, 6);
	decode();
	assert_int_equal(value_count, 7);
}

static void everything_else_of_a_definition(void **state)
{
	const struct ptl_schema *schema;

	(void)state;
	full(1);
	schema = decode();
	assert_int_equal(seen.record.id, 65535);
	assert_int_equal(seen.record.version, 9);
	assert_int_equal(seen.record.channel, 8);
	assert_int_equal(seen.record.level, PTL_LEVEL_VERBOSE);
	assert_int_equal(seen.record.opcode, 200);
	assert_int_equal(seen.record.task, 7);
	assert_true(seen.record.keyword == 0x8000000000000001u);
	assert_string_equal(schema->task_name, "Task7");
	assert_string_equal(schema->opcode_name, "Own");
	assert_string_equal(schema->message, "all of it: {0}");
	assert_int_equal(schema->level, PTL_LEVEL_VERBOSE);
	assert_int_equal(schema->channel, 8);
	assert_int_equal(schema->task, 7);
	assert_true(schema->keyword == 0x8000000000000001u);
	assert_int_equal(schema->tags, 6);
	none();
	schema = decode();
	assert_int_equal(schema->field_count, 0);
	assert_int_equal(value_count, 0);
	assert_int_equal(map_count, 2);
	assert_int_equal(maps[0]->count + maps[1]->count, 3);
	assert_memory_equal(&maps[0]->provider, &test.guid, sizeof(test.guid));
}

static void definitions_made_at_run_time(void **state)
{
	static struct ptl_field fields[128];
	static char names[128][8];
	static uint32_t numbers_of[128];
	static struct ptl_piece pieces[128];
	static struct ptl_event_definition event = {
		.provider = &test,
		.id = 100,
		.level = PTL_LEVEL_ERROR,
		.name = "Many",
		.fields = fields,
		.field_count = 128,
	};

	(void)state;
	for (unsigned i = 0; i < 128; i++) {
		snprintf(names[i], sizeof(names[i]), "f%u", i);
		fields[i] = (struct ptl_field){.name = names[i], .type = PTL_TYPE_U32};
		numbers_of[i] = i * 1000;
		pieces[i] = (struct ptl_piece){&numbers_of[i], 4};
	}
	assert_int_equal(ptl_provider_add_event(&event), 0);
	forget_heap();
	read_heap();
	ptl_emit(&event, pieces, 128);
	assert_int_equal(decode()->field_count, 128);
	assert_int_equal(value_count, 128);
	assert_int_equal(values[127].u, 127000);

	/* Contradictory definitions are refused. */
	fields[127] = (struct ptl_field){.name = "s", .type = PTL_TYPE_STRUCT, .length = 1};
	assert_int_equal(ptl_provider_add_event(&event), PTL_MISUSE);
	fields[127] = (struct ptl_field){.name = "t", .type = 99};
	assert_int_equal(ptl_provider_add_event(&event), PTL_MISUSE);
	fields[127] = (struct ptl_field){.type = PTL_TYPE_U8};
	assert_int_equal(ptl_provider_add_event(&event), PTL_MISUSE);
}

/* A trace has room for one definition per event. */
static void an_event_has_one_definition(void **state)
{
	static const struct ptl_field one = {.name = "one", .type = PTL_TYPE_U32};
	static const struct ptl_field other = {.name = "other", .type = PTL_TYPE_U32};
	struct ptl_event_definition event = {
		.provider = &test,
		.id = 110,
		.name = "Once",
		.fields = &one,
		.field_count = 1,
	};

	(void)state;
	assert_int_equal(ptl_provider_add_event(&event), 0);
	assert_int_equal(ptl_provider_add_event(&event), 0);
	event.fields = &other;
	assert_int_equal(ptl_provider_add_event(&event), PTL_MISUSE);
	event.version = 1;
	assert_int_equal(ptl_provider_add_event(&event), 0);
}

/* Two files of a program register providers of the same name. */
static void a_provider_does_not_define_events_of_another_anew(void **state)
{
	static struct ptl_provider twin = {.name = "PTL-Twin"}, second = {.name = "PTL-Twin"};
	static const struct ptl_event_definition first_event = {.provider = &twin, .id = 1, .name = "First"};
	static const struct ptl_event_definition second_event = {.provider = &second, .id = 1, .name = "Second"};
	static const struct ptl_event_definition same_event = {.provider = &second, .id = 1, .name = "First"};
	const struct ptl_event_definition *events[] = {&first_event, &second_event};

	(void)state;
	assert_int_equal(ptl_provider_register_arrays(&twin, events, events + 2, NULL, NULL), 0);
	assert_int_equal(ptl_provider_register_arrays(&second, events, events + 2, NULL, NULL), PTL_MISUSE);
	events[1] = &same_event;
	assert_int_equal(ptl_provider_register_arrays(&second, events, events + 2, NULL, NULL), 0);
	ptl_provider_unregister(&second);
	ptl_provider_unregister(&twin);
}

static void payloads_beyond_the_limit_are_counted(void **state)
{
	static const uint8_t much[8];
	const struct ptl_piece too_much = {much, (size_t)1 << 60};
	struct ptl_piece pieces[2] = {{much, PTL_PAYLOAD_MAX}, {much, PTL_PAYLOAD_MAX}};

	(void)state;
	ptl_emit(&none_event, &too_much, 1);
	ptl_emit(&none_event, pieces, 2);
	assert_int_equal(reader_drain(&reader), 0);
	assert_int_equal(test.enabled->slots[2].lost, 2);
}

static int start(void **state)
{
	(void)state;
	reader_folder(folder);
	reader.visit = see;
	reader_start(&reader, folder, 2, 9, 1 << 18, PROVIDER_SHM_SESSION_EVERYONE, "Test-Fields", 255, UINT64_MAX);
	if (ptl_provider_register(&test))
		return -1;
	read_heap();
	return 0;
}

static int stop(void **state)
{
	(void)state;
	ptl_provider_unregister(&test);
	forget_heap();
	reader_stop(&reader, false);
	reader_remove_folder(folder);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_of_every_width),
		cmocka_unit_test(texts_empty_invalid_and_huge),
		cmocka_unit_test(arrays_and_structures),
		cmocka_unit_test(everything_else_of_a_definition),
		cmocka_unit_test(definitions_made_at_run_time),
		cmocka_unit_test(an_event_has_one_definition),
		cmocka_unit_test(a_provider_does_not_define_events_of_another_anew),
		cmocka_unit_test(payloads_beyond_the_limit_are_counted),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
