/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that a trace's machine, losses, schemas and maps are read back. */
#include "format/container/layout.h"
#include "tests/unit/format_sample.h"

static void machine_comes_back(void **state)
{
	const struct ptl_machine machine = {
		.source = "intel_pt",
		.software = true,
		.redacted = true,
		.hostname = "host",
		.kernel = "6.1",
		.architecture = "x86_64",
		.cpus = 4,
		.cpu_name = "CPU",
		.vendor = PTL_VENDOR_INTEL,
		.family = 6,
		.model = 142,
		.stepping = 10,
		.mode = 64,
		.clock = PTL_CLOCK_PERF,
		.start_time = 5,
		.end_time = UINT64_MAX,
		.wall_start = -7,
		.wall_uncertainty = 9,
		.tsc_zero = 1ull << 63,
		.tsc_multiplier = UINT32_MAX,
		.tsc_shift = 31,
		.tsc_frequency = 3,
		.timing = PTL_TIMING_CYC,
		.return_compression = true,
		.guest_code = PTL_GUEST_CODE_ALL,
		.psb_period = 4096,
		.mtc_frequency = 3,
		.cyc_threshold = 1,
		.ctc_numerator = 168,
		.ctc_denominator = 2,
		.nominal_ratio = 24,
	};
	struct ptl_machine read;
	const int fd = sample_fd();
	struct ptl_writer *writer = sample_writer(fd, NULL);
	struct ptl_trace *trace;

	(void)state;
	assert_done(ptl_writer_machine(writer, &(struct ptl_machine){.source = "raw"}));
	assert_done(ptl_writer_machine(writer, &machine));
	assert_done(ptl_writer_close(writer));
	trace = sample_open(fd, false);
	read = *ptl_trace_machine(trace);
	assert_string_equal(read.source, machine.source);
	assert_string_equal(read.kernel, machine.kernel);
	assert_string_equal(read.cpu_name, machine.cpu_name);
	/* Texts are padded with zeros, so the whole structure can be compared. */
	assert_memory_equal(&read, &machine, offsetof(struct ptl_machine, nominal_ratio) + 1);
	ptl_close(trace);
	close(fd);
}

static void losses_and_provenance_come_back(void **state)
{
	const struct ptl_loss loss = {.kind = PTL_LOSS_BYTES,
				      .stream = 7,
				      .pid = 0,
				      .tid = PTL_NO_ID,
				      .count = 3,
				      .bytes = 1ull << 40,
				      .first_time = 1,
				      .last_time = 2,
				      .cause = "ring full"};
	const struct ptl_provenance_input inputs[] = {
		{.name = "a", .size = 1, .hash_kind = PTL_HASH_SHA256, .hash = {1, 2, [31] = 3}},
		{.name = "b", .size = 2, .hash_kind = PTL_HASH_XXH128, .hash = {4, [15] = 5}},
		{.name = "", .size = 0, .hash_kind = PTL_HASH_NONE},
		/* Old writers wrote zeros for a missing hash. */
		{.name = "c", .size = 3, .hash_kind = PTL_HASH_SHA256},
	};
	static const enum ptl_hash_kind kinds[] = {PTL_HASH_SHA256, PTL_HASH_XXH128, PTL_HASH_NONE, PTL_HASH_NONE};
	const struct ptl_provenance step = {.tool = "t",
					    .version = "v",
					    .command = "c 'd'",
					    .wall_time = -1,
					    .rules = "r",
					    .inputs = 4,
					    .input = inputs};
	const int fd = sample_fd();
	struct ptl_writer *writer = sample_writer(fd, NULL);
	const struct ptl_provenance *read;
	struct ptl_trace *trace;

	(void)state;
	assert_done(ptl_writer_loss(writer, &loss));
	assert_done(ptl_writer_provenance(writer, &step));
	assert_done(ptl_writer_close(writer));
	trace = sample_open(fd, false);
	assert_int_equal(ptl_loss_count(trace), 1);
	assert_int_equal(ptl_loss_at(trace, 0)->bytes, loss.bytes);
	assert_int_equal(ptl_loss_at(trace, 0)->pid, 0);
	assert_int_equal(ptl_loss_at(trace, 0)->tid, PTL_NO_ID);
	assert_string_equal(ptl_loss_at(trace, 0)->cause, "ring full");
	assert_null(ptl_loss_at(trace, 1));
	read = ptl_provenance_at(trace, 0);
	assert_string_equal(read->command, "c 'd'");
	assert_int_equal(read->wall_time, -1);
	assert_int_equal(read->inputs, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(read->input[i].hash_kind, kinds[i]);
		assert_memory_equal(read->input[i].hash, inputs[i].hash, PTL_HASH_SIZE);
	}
	assert_string_equal(read->input[2].name, "");
	ptl_close(trace);
	close(fd);
}

static void attachments_come_back_once(void **state)
{
	const struct ptl_attachment map = {
		.kind = PTL_ATTACHMENT_JIT, .pid = 7, .name = "perf-7.map", .hash = {1, [31] = 2}};
	struct ptl_attachment shared = {.kind = PTL_ATTACHMENT_SHARED,
					.pid = PTL_NO_ID,
					.name = "",
					.id_size = PTL_ATTACHMENT_ID_MAX,
					.id = {9, [63] = 8}};
	const int fd = sample_fd();
	struct ptl_writer *writer = sample_writer(fd, NULL);
	const struct ptl_attachment *read;
	struct ptl_trace *trace;

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_done(ptl_writer_attachment(writer, &map));
	assert_done(ptl_writer_attachment(writer, &shared));
	assert_done(ptl_writer_close(writer));
	trace = sample_open(fd, false);
	assert_int_equal(ptl_attachment_count(trace), 2);
	read = ptl_attachment_at(trace, 0);
	assert_int_equal(read->pid, 7);
	assert_string_equal(read->name, "perf-7.map");
	assert_memory_equal(read->hash, map.hash, PTL_HASH_SIZE);
	assert_int_equal(read->id_size, 0);
	read = ptl_attachment_at(trace, 1);
	assert_int_equal(read->kind, PTL_ATTACHMENT_SHARED);
	assert_int_equal(read->pid, PTL_NO_ID);
	assert_int_equal(read->id_size, PTL_ATTACHMENT_ID_MAX);
	assert_memory_equal(read->id, shared.id, PTL_ATTACHMENT_ID_MAX);
	assert_null(ptl_attachment_at(trace, 2));
	ptl_close(trace);
	close(fd);
}

/* Each bad attachment is skipped and reported as damage. */
static void bad_attachments_are_damage(void **state)
{
	static const struct {
		size_t size;
		uint8_t body[80];
	} bad[] = {
		{0, {0}},                      /* no hash */
		{4, {1, 2, 5, 1}},             /* a number followed by extra bytes */
		{33, {4, 31}},                 /* a hash of 31 bytes */
		{67, {5, 65}},                 /* an id of 65 bytes */
		{37, {4, 32, [34] = 3, 1, 0}}, /* a zero in the name */
		{35, {4, 32, [34] = 3}},       /* a field without an end */
	};
	const int fd = sample_fd();
	struct ptl_writer *writer = sample_writer(fd, NULL);
	struct ptl_trace *trace;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_done(ptl_writer_record(writer, 7, bad[i].body, bad[i].size));
	assert_done(ptl_writer_close(writer));
	trace = sample_open(fd, false);
	assert_int_equal(ptl_attachment_count(trace), 0);
	assert_int_equal(ptl_damage_count(trace), sizeof(bad) / sizeof(bad[0]));
	ptl_close(trace);
	close(fd);
}

static void equal_schemas_are_stored_once(void **state)
{
	const struct ptl_schema *const *schemas;
	const int fd = sample_fd();
	struct ptl_writer *writer = sample_writer(fd, NULL);
	const struct ptl_schema *read;
	struct ptl_trace *trace;
	size_t count;

	(void)state;
	schemas = ptl_kernel_schemas(&count);
	for (size_t i = 0; i < 2 * count; i++)
		assert_done(ptl_writer_schema(writer, schemas[i % count]));
	assert_done(ptl_writer_close(writer));
	trace = sample_open(fd, false);
	assert_int_equal(ptl_schema_count(trace), count);
	assert_int_equal(ptl_record_count(trace), count);
	for (size_t i = 0; i < count; i++) {
		const struct ptl_descriptor descriptor = {
			.provider = schemas[i]->provider, .version = schemas[i]->version, .opcode = schemas[i]->opcode};

		read = ptl_schema_find(trace, &descriptor);
		assert_non_null(read);
		assert_string_equal(read->event_name, schemas[i]->event_name);
		assert_int_equal(read->field_count, schemas[i]->field_count);
		for (size_t k = 0; k < read->field_count; k++) {
			assert_string_equal(read->fields[k].name, schemas[i]->fields[k].name);
			assert_int_equal(read->fields[k].type, schemas[i]->fields[k].type);
			assert_int_equal(read->fields[k].length, schemas[i]->fields[k].length);
		}
	}
	ptl_close(trace);
	close(fd);
}

static void maps_add_up(void **state)
{
	static const struct ptl_guid provider = {{1, 2, 3}}, other = {{9}};
	static const struct ptl_map_entry first[] = {{7, "seven"}, {UINT64_MAX, "minus one"}, {0, "none"}};
	static const struct ptl_map_entry second[] = {{7, "another"}, {3, "three"}, {5, ""}};
	const struct ptl_map maps[] = {
		{provider, PTL_MAP_VALUES, "Reason", first, 3}, {provider, PTL_MAP_VALUES, "Reason", second, 3},
		{provider, PTL_MAP_FLAGS, "Rights", second, 2}, {provider, PTL_MAP_KEYWORDS, "", first, 1},
		{provider, PTL_MAP_VALUES, "Empty", NULL, 0},   {provider, PTL_MAP_VALUES, "Reason", first, 3},
	};
	const struct ptl_map too_large = {provider, PTL_MAP_VALUES, "Large", first, 16385};
	const struct ptl_field field = {"f", PTL_TYPE_U8, .map = "Rights"}, plain = {"f", PTL_TYPE_U8};
	const int fd = sample_fd();
	struct ptl_writer *writer = sample_writer(fd, NULL);
	const struct ptl_map *read;
	struct ptl_trace *trace;

	(void)state;
	assert_int_equal(ptl_writer_map(writer, &too_large), PTL_MISUSE);
	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
		assert_done(ptl_writer_map(writer, &maps[i]));
	assert_done(ptl_writer_close(writer));
	trace = sample_open(fd, false);
	assert_int_equal(ptl_record_count(trace), 5);
	assert_int_equal(ptl_map_count(trace), 4);
	read = ptl_map_find(trace, &provider, PTL_MAP_VALUES, "Reason");
	assert_non_null(read);
	assert_ptr_equal(read, ptl_map_at(trace, 0));
	assert_int_equal(read->count, 5);
	for (size_t i = 1; i < read->count; i++)
		assert_true(read->entries[i].value > read->entries[i - 1].value);
	assert_string_equal(ptl_map_name(read, 7), "seven");
	assert_string_equal(ptl_map_name(read, UINT64_MAX), "minus one");
	assert_string_equal(ptl_map_name(read, 3), "three");
	assert_string_equal(ptl_map_name(read, 5), "");
	assert_null(ptl_map_name(read, 4));
	assert_null(ptl_map_name(NULL, 7));
	assert_ptr_equal(ptl_map_of_field(trace, &provider, &field), ptl_map_at(trace, 1));
	assert_int_equal(ptl_map_at(trace, 1)->kind, PTL_MAP_FLAGS);
	assert_null(ptl_map_of_field(trace, &provider, &plain));
	assert_null(ptl_map_find(trace, &other, PTL_MAP_VALUES, "Reason"));
	assert_null(ptl_map_at(trace, 4));
	ptl_close(trace);
	close(fd);
}

/* Information in schemas besides fields. */
/* Overlong names are cut, not lost, and only between characters. */
static void long_names_are_cut(void **state)
{
	static char name[FORMAT_NAME_MAX + 3], message[FORMAT_MESSAGE_MAX + 2];
	const struct ptl_field field = {.name = name, .type = PTL_TYPE_U8, .map = name};
	const struct ptl_map_entry entry = {.value = 1, .name = name};
	const struct ptl_schema schema = {.provider = {{1}},
					  .id = 1,
					  .provider_name = name,
					  .event_name = name,
					  .message = message,
					  .fields = &field,
					  .field_count = 1};
	const struct ptl_map map = {.provider = {{1}}, .name = name, .entries = &entry, .count = 1};
	const int fd = sample_fd();
	struct ptl_writer *writer = sample_writer(fd, NULL);
	const struct ptl_schema *read;
	struct ptl_trace *trace;

	(void)state;
	memset(message, 'm', FORMAT_MESSAGE_MAX + 1);
	memset(name, 'n', FORMAT_NAME_MAX - 1);
	memcpy(name + FORMAT_NAME_MAX - 1, "\xc3\xa9", 2);
	assert_done(ptl_writer_schema(writer, &schema));
	assert_done(ptl_writer_map(writer, &map));
	assert_done(ptl_writer_close(writer));
	trace = sample_open(fd, false);
	assert_int_equal(ptl_damage_count(trace), 0);
	read = ptl_schema_at(trace, 0);
	name[FORMAT_NAME_MAX - 1] = 0;
	message[FORMAT_MESSAGE_MAX] = 0;
	assert_string_equal(read->provider_name, name);
	assert_string_equal(read->event_name, name);
	assert_string_equal(read->message, message);
	assert_string_equal(read->fields[0].name, name);
	assert_string_equal(read->fields[0].map, name);
	assert_string_equal(ptl_map_at(trace, 0)->name, name);
	assert_string_equal(ptl_map_at(trace, 0)->entries[0].name, name);
	ptl_close(trace);
	close(fd);
}

/* A writer refuses more records, entries and other items than a reader accepts. */
static void a_writer_refuses_what_no_reader_takes(void **state)
{
	enum { MAPS = FORMAT_METADATA_ITEMS_MAX / (FORMAT_RECORD_ITEMS_MAX + 1) };
	static struct ptl_map_entry entries[FORMAT_RECORD_ITEMS_MAX];
	const int fd = sample_fd();
	struct ptl_writer *writer = sample_writer(fd, NULL);
	struct ptl_trace *trace;

	(void)state;
	for (unsigned i = 0; i < FORMAT_RECORD_ITEMS_MAX; i++)
		entries[i] = (struct ptl_map_entry){.value = i, .name = ""};
	for (unsigned i = 0; i <= MAPS; i++) {
		char name[16];
		const struct ptl_map map = {
			.provider = {{1}}, .name = name, .entries = entries, .count = FORMAT_RECORD_ITEMS_MAX};

		snprintf(name, sizeof(name), "map %u", i);
		assert_int_equal(ptl_writer_map(writer, &map), i < MAPS ? 0 : PTL_MISUSE);
	}
	assert_non_null(strstr(ptl_error_text(), "too much metadata"));
	assert_done(ptl_writer_machine(writer, &(struct ptl_machine){.source = "raw"}));
	assert_done(ptl_writer_close(writer));
	trace = sample_open(fd, false);
	assert_int_equal(ptl_damage_count(trace), 0);
	assert_int_equal(ptl_map_count(trace), MAPS);
	ptl_close(trace);
	close(fd);
}

static void schemas_keep_descriptors_and_tags(void **state)
{
	static const struct ptl_field fields[] = {{"f", PTL_TYPE_U8, .map = "M", .tags = 5}};
	const struct ptl_schema schema = {
		.provider = {{1}},
		.id = 9,
		.event_name = "E",
		.message = "{0}",
		.fields = fields,
		.field_count = 1,
		.level = 4,
		.channel = 16,
		.task = 1000,
		.keyword = 1ull << 63,
		.tags = UINT32_MAX,
	};
	const struct ptl_descriptor descriptor = {.provider = schema.provider, .id = 9};
	const int fd = sample_fd();
	struct ptl_writer *writer = sample_writer(fd, NULL);
	const struct ptl_schema *read;
	struct ptl_trace *trace;

	(void)state;
	assert_done(ptl_writer_schema(writer, &schema));
	assert_done(ptl_writer_close(writer));
	trace = sample_open(fd, false);
	read = ptl_schema_find(trace, &descriptor);
	assert_non_null(read);
	assert_string_equal(read->message, "{0}");
	assert_int_equal(read->level, 4);
	assert_int_equal(read->channel, 16);
	assert_int_equal(read->task, 1000);
	assert_true(read->keyword == schema.keyword);
	assert_int_equal(read->tags, UINT32_MAX);
	assert_string_equal(read->fields[0].map, "M");
	assert_int_equal(read->fields[0].tags, 5);
	ptl_close(trace);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(machine_comes_back),
		cmocka_unit_test(losses_and_provenance_come_back),
		cmocka_unit_test(attachments_come_back_once),
		cmocka_unit_test(bad_attachments_are_damage),
		cmocka_unit_test(equal_schemas_are_stored_once),
		cmocka_unit_test(maps_add_up),
		cmocka_unit_test(long_names_are_cut),
		cmocka_unit_test(a_writer_refuses_what_no_reader_takes),
		cmocka_unit_test(schemas_keep_descriptors_and_tags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
