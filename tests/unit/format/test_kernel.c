/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that kernel events keep all values, have ETW's layout, and match their schemas. */
#include "tests/unit/format_sample.h"

#define NAME "/bin/\xff\xfe name \xc3\xa9 \xed\xb2\x80 \xf0\x9f\x98\x80 \xc0\x80"

static struct ptl_event encoded_process(struct ptl_bytes *storage)
{
	const struct ptl_process_event process = {.unique_key = 1ull << 63,
						  .process_id = 7,
						  .parent_id = 6,
						  .exit_status = -9,
						  .has_exit_status = true,
						  .image_file_name = NAME,
						  .command_line = NAME};
	struct ptl_event event = {0};

	assert_done(ptl_process_encode(&process, PTL_OPCODE_END, storage, &event));
	return event;
}

static struct ptl_image_event full_image(void)
{
	struct ptl_image_event image = {.base = 0x7fff00000000,
					.size = 0x1000,
					.process_id = 7,
					.time_date_stamp = 5,
					.default_base = 0x400000,
					.file_name = NAME,
					.file_offset = 0x2000,
					.protection = 5,
					.device_major = 8,
					.device_minor = 1,
					.inode = 1ull << 40,
					.build_id_size = PTL_BUILD_ID_MAX,
					.has_code = true,
					.has_debug = true};

	memset(image.build_id, 0xab, sizeof(image.build_id));
	memset(image.code, 1, sizeof(image.code));
	memset(image.debug, 3, sizeof(image.debug));
	return image;
}

static void processes_come_back(void **state)
{
	struct ptl_bytes storage = {0}, strings = {0};
	const struct ptl_event event = encoded_process(&storage);
	struct ptl_process_event back;

	(void)state;
	assert_int_equal(event.descriptor.opcode, PTL_OPCODE_END);
	assert_memory_equal(&event.descriptor.provider, &PTL_PROVIDER_PROCESS, 16);
	assert_done(ptl_process_decode(&event, &strings, &back));
	assert_true(back.unique_key == 1ull << 63);
	assert_int_equal(back.process_id, 7);
	assert_int_equal(back.parent_id, 6);
	assert_int_equal(back.exit_status, -9);
	assert_true(back.has_exit_status);
	assert_string_equal(back.image_file_name, NAME);
	assert_string_equal(back.command_line, NAME);
	common_bytes_free(&storage);
	common_bytes_free(&strings);
}

/* A path or name of maximal length, and one byte longer. */
static void names_are_bounded(void **state)
{
	static char longest[PTL_PATH_MAX + 1], longer[PTL_PATH_MAX + 2];
	const struct ptl_process_event process = {.image_file_name = longer, .command_line = longer};
	const struct ptl_thread_event thread = {.name = longer};
	const struct ptl_image_event image = {.file_name = longer};
	struct ptl_process_event process_back;
	struct ptl_thread_event thread_back;
	struct ptl_image_event image_back;
	struct ptl_bytes storage = {0}, strings = {0};
	struct ptl_event event = {0};

	(void)state;
	memset(longest, 'a', PTL_PATH_MAX);
	memset(longer, 'a', PTL_PATH_MAX + 1);
	assert_done(ptl_process_encode(&process, PTL_OPCODE_START, &storage, &event));
	assert_done(ptl_process_decode(&event, &strings, &process_back));
	assert_string_equal(process_back.image_file_name, longest);
	assert_string_equal(process_back.command_line, longer);
	storage.size = 0;
	assert_done(ptl_thread_encode(&thread, PTL_OPCODE_START, &storage, &event));
	assert_done(ptl_thread_decode(&event, &strings, &thread_back));
	assert_string_equal(thread_back.name, longest);
	storage.size = 0;
	assert_done(ptl_image_encode(&image, PTL_OPCODE_LOAD, &storage, &event));
	assert_done(ptl_image_decode(&event, &strings, &image_back));
	assert_string_equal(image_back.file_name, longest);
	/* the same with a path one unit longer */
	assert_non_null(common_bytes_grow(&storage, 2));
	memmove(storage.data + 58, storage.data + 56, storage.size - 58);
	event.payload = storage.data;
	event.payload_size = storage.size;
	assert_int_equal(ptl_image_decode(&event, &strings, &image_back), PTL_CORRUPT);
	assert_non_null(strstr(ptl_error_text(), "4097 bytes"));
	common_bytes_free(&storage);
	common_bytes_free(&strings);
}

static void threads_come_back(void **state)
{
	const struct ptl_thread_event thread = {.process_id = 1, .thread_id = 2, .start_address = 3, .name = NULL};
	struct ptl_bytes storage = {0}, strings = {0};
	struct ptl_thread_event back;
	struct ptl_event event = {0};

	(void)state;
	assert_done(ptl_thread_encode(&thread, PTL_OPCODE_START_RUNDOWN, &storage, &event));
	assert_done(ptl_thread_decode(&event, &strings, &back));
	assert_int_equal(back.process_id, 1);
	assert_int_equal(back.thread_id, 2);
	assert_int_equal(back.start_address, 3);
	assert_string_equal(back.name, "");
	common_bytes_free(&storage);
	common_bytes_free(&strings);
}

static void images_come_back(void **state)
{
	const struct ptl_image_event image = full_image();
	struct ptl_bytes storage = {0}, strings = {0};
	struct ptl_image_event back;
	struct ptl_event event = {0};

	(void)state;
	assert_done(ptl_image_encode(&image, PTL_OPCODE_LOAD, &storage, &event));
	/* Offsets known to ETW's readers: Image_Load, version 3, 64 bits. */
	assert_true(common_load64(event.payload) == image.base);
	assert_true(common_load64(event.payload + 8) == image.size);
	assert_int_equal(common_load32(event.payload + 16), image.process_id);
	assert_int_equal(common_load32(event.payload + 24), image.time_date_stamp);
	assert_true(common_load64(event.payload + 32) == image.default_base);
	assert_int_equal(common_load16(event.payload + 56), '/');
	assert_done(ptl_image_decode(&event, &strings, &back));
	assert_string_equal(back.file_name, NAME);
	assert_true(back.base == image.base && back.default_base == image.default_base);
	assert_true(back.file_offset == image.file_offset && back.inode == image.inode);
	assert_int_equal(back.protection, 5);
	assert_int_equal(back.device_major, 8);
	assert_int_equal(back.device_minor, 1);
	assert_int_equal(back.build_id_size, PTL_BUILD_ID_MAX);
	assert_memory_equal(back.build_id, image.build_id, PTL_BUILD_ID_MAX);
	assert_true(back.has_code && !back.has_symbols && back.has_debug);
	assert_memory_equal(back.code, image.code, PTL_HASH_SIZE);
	assert_memory_equal(back.debug, image.debug, PTL_HASH_SIZE);
	common_bytes_free(&storage);
	common_bytes_free(&strings);
}

static void code_comes_back(void **state)
{
	const struct ptl_code_event code = {.process_id = 4, .base = 5, .size = 6, .code = {7, 8}};
	struct ptl_bytes storage = {0};
	struct ptl_code_event back;
	struct ptl_event event = {0};

	(void)state;
	assert_done(ptl_code_encode(&code, &storage, &event));
	assert_done(ptl_code_decode(&event, &back));
	assert_int_equal(back.process_id, 4);
	assert_int_equal(back.base, 5);
	assert_int_equal(back.size, 6);
	assert_memory_equal(back.code, code.code, PTL_HASH_SIZE);
	common_bytes_free(&storage);
}

static void signals_come_back(void **state)
{
	const struct ptl_signal_event signal = {.process_id = 4,
						.thread_id = 5,
						.signal = 11,
						.code = -6,
						.sender_id = 7,
						.has_address = true,
						.address = 0xfffffffffffffff8};
	struct ptl_bytes storage = {0};
	struct ptl_signal_event back;
	struct ptl_event event = {0};

	(void)state;
	assert_done(ptl_signal_encode(&signal, &storage, &event));
	assert_done(ptl_signal_decode(&event, &back));
	assert_int_equal(back.process_id, 4);
	assert_int_equal(back.thread_id, 5);
	assert_int_equal(back.signal, 11);
	assert_int_equal(back.code, -6);
	assert_int_equal(back.sender_id, 7);
	assert_true(back.has_address && back.address == signal.address);
	while (event.payload_size-- > 0)
		assert_int_equal(ptl_signal_decode(&event, &back), PTL_TRUNCATED);
	event.descriptor.opcode = PTL_OPCODE_FATAL + 1;
	assert_int_equal(ptl_signal_decode(&event, &back), PTL_NOT_OURS);
	common_bytes_free(&storage);
}

static void payloads_that_are_too_short_are_truncated(void **state)
{
	struct ptl_bytes storage = {0}, strings = {0};
	const struct ptl_image_event image = full_image();
	struct ptl_image_event image_back;
	struct ptl_process_event process_back;
	struct ptl_event event = encoded_process(&storage);

	(void)state;
	for (size_t size = event.payload_size; event.payload_size-- > 0;) {
		/* Memory of the exact size, so that a sanitizer sees a read beyond the end. */
		uint8_t *cut = malloc(event.payload_size + 1);
		struct ptl_event shorter = event;

		memcpy(cut, event.payload, event.payload_size);
		shorter.payload = cut;
		assert_int_equal(ptl_process_decode(&shorter, &strings, &process_back), PTL_TRUNCATED);
		free(cut);
		assert_true(event.payload_size < size);
	}
	storage.size = 0;
	assert_done(ptl_image_encode(&image, PTL_OPCODE_LOAD, &storage, &event));
	while (event.payload_size-- > 0)
		assert_int_equal(ptl_image_decode(&event, &strings, &image_back), PTL_TRUNCATED);
	common_bytes_free(&storage);
	common_bytes_free(&strings);
}

static void other_classes_and_versions_are_told_apart(void **state)
{
	struct ptl_bytes storage = {0}, strings = {0};
	struct ptl_event event = encoded_process(&storage);
	struct ptl_process_event process;
	struct ptl_thread_event thread;

	(void)state;
	assert_int_equal(ptl_thread_decode(&event, &strings, &thread), PTL_NOT_OURS);
	event.descriptor.version++;
	assert_int_equal(ptl_process_decode(&event, &strings, &process), PTL_UNSUPPORTED);
	common_bytes_free(&storage);
	common_bytes_free(&strings);
}

static void what_does_not_fit_is_misuse(void **state)
{
	struct ptl_image_event image = full_image();
	struct ptl_process_event process = {0};
	struct ptl_bytes storage = {0};
	struct ptl_event event = {0};
	char *line = malloc(PTL_PAYLOAD_MAX);

	(void)state;
	memset(line, 'a', PTL_PAYLOAD_MAX);
	line[PTL_PAYLOAD_MAX - 1] = 0;
	process.command_line = line;
	assert_int_equal(ptl_process_encode(&process, PTL_OPCODE_START, &storage, &event), PTL_MISUSE);
	image.build_id_size++;
	assert_int_equal(ptl_image_encode(&image, PTL_OPCODE_LOAD, &storage, &event), PTL_MISUSE);
	free(line);
	common_bytes_free(&storage);
}

/* ---- schemas -------------------------------------------------------------------------------------- */

struct seen {
	const char *last;
	uint64_t process_id;
	size_t fields;
};

static int note_field(void *context, const struct ptl_value *value)
{
	struct seen *seen = context;

	seen->last = value->field->name;
	seen->fields++;
	if (strcmp(value->field->name, "ProcessId") == 0)
		seen->process_id = value->u;
	return 0;
}

static const struct ptl_schema *schema_of(const struct ptl_event *event)
{
	size_t count;
	const struct ptl_schema *const *schemas = ptl_kernel_schemas(&count);

	for (size_t i = 0; i < count; i++)
		if (memcmp(&schemas[i]->provider, &event->descriptor.provider, 16) == 0 &&
		    schemas[i]->version == event->descriptor.version && schemas[i]->opcode == event->descriptor.opcode)
			return schemas[i];
	return NULL;
}

static void check_schema(const struct ptl_event *event, uint32_t process_id, const char *last)
{
	const struct ptl_schema *schema = schema_of(event);
	struct seen seen = {0};
	size_t rest = 1;

	assert_non_null(schema);
	assert_done(ptl_payload_decode(schema, event->payload, event->payload_size, note_field, &seen, &rest));
	assert_int_equal(rest, 0);
	assert_int_equal(seen.fields, schema->field_count);
	assert_int_equal(seen.process_id, process_id);
	assert_string_equal(seen.last, last);
}

static void schemas_fit_the_events(void **state)
{
	const struct ptl_image_event image = full_image();
	const struct ptl_thread_event thread = {.process_id = 3, .name = NAME};
	const struct ptl_code_event code = {.process_id = 4};
	struct ptl_bytes storage = {0};
	struct ptl_event event = encoded_process(&storage);

	(void)state;
	check_schema(&event, 7, "Flags");
	storage.size = 0;
	assert_done(ptl_thread_encode(&thread, PTL_OPCODE_START, &storage, &event));
	check_schema(&event, 3, "ThreadName");
	storage.size = 0;
	assert_done(ptl_image_encode(&image, PTL_OPCODE_UNLOAD, &storage, &event));
	check_schema(&event, 7, "DebugHash");
	storage.size = 0;
	assert_done(ptl_code_encode(&code, &storage, &event));
	check_schema(&event, 4, "CodeHash");
	common_bytes_free(&storage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_come_back),
		cmocka_unit_test(names_are_bounded),
		cmocka_unit_test(threads_come_back),
		cmocka_unit_test(images_come_back),
		cmocka_unit_test(code_comes_back),
		cmocka_unit_test(signals_come_back),
		cmocka_unit_test(payloads_that_are_too_short_are_truncated),
		cmocka_unit_test(other_classes_and_versions_are_told_apart),
		cmocka_unit_test(what_does_not_fit_is_misuse),
		cmocka_unit_test(schemas_fit_the_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
