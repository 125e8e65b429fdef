/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is written to a trace comes back: events, bytes with holes, blobs, metadata; through files
 * and pipes.
 */
#include <fcntl.h>
#include <pthread.h>

#include <ptl/pt.h>

#include "tests/unit/format_sample.h"

/*
 * ---- metadata
 * ------------------------------------------------------------------------------------------
 */

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
	/* Texts are filled with zeros, so everything can be compared at once. */
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
		/* Zeros are what was written without a hash before there were kinds. */
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
		const struct ptl_descriptor descriptor = {.provider = schemas[i]->provider,
							  .version = schemas[i]->version,
							  .opcode = schemas[i]->opcode};

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
		{provider, PTL_MAP_VALUES, "Empty", NULL, 0},	{provider, PTL_MAP_VALUES, "Reason", first, 3},
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

/* What schemas say beside their fields. */
static void schemas_keep_descriptors_and_tags(void **state)
{
	static const struct ptl_field fields[] = {{"f", PTL_TYPE_U8, .map = "M", .tags = 5}};
	const struct ptl_schema schema = {
		.provider = {{1}}, .id = 9, .event_name = "E", .message = "{0}", .fields = fields,
		.field_count = 1, .level = 4, .channel = 16, .task = 1000, .keyword = 1ull << 63, .tags = UINT32_MAX,
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

/*
 * ---- events
 * ---------------------------------------------------------------------------------------------
 */

#define MANY 60000

/* Event i of a long and mixed sequence. Its data live in storage until the next call. */
static struct ptl_event make_event(uint32_t i, uint8_t storage[64])
{
	static const uint8_t item[] = {1, 2, 3};
	static struct ptl_extended extended[2];
	struct ptl_event event = {
		.descriptor = {.provider = {{(uint8_t)(i % 3)}},
			       .id = (uint16_t)(i % 5),
			       .opcode = (uint8_t)(i % 2),
			       .keyword = i % 7 ? 0 : UINT64_MAX},
		.time = 1000 + (uint64_t)i * 13 - (i % 11 ? 0 : 500),
		.cpu = i % 4,
		.pid = i % 300,
		.tid = i % 17 ? i % 900 : PTL_NO_ID,
		.payload = storage,
		.payload_size = i % 5 == 4 ? i % 60 : 8 + i % 5,
	};

	for (unsigned k = 0; k < 64; k++)
		storage[k] = (uint8_t)(i >> 8 * (k % 4) ^ k);
	if (i % 10 == 3) {
		event.flags = PTL_EVENT_HAS_ACTIVITY | (i % 20 == 3 ? PTL_EVENT_HAS_RELATED : 0);
		event.activity.bytes[0] = (uint8_t)i;
		event.related.bytes[15] = (uint8_t)i;
	}
	if (i % 100 == 50) {
		extended[0] = (struct ptl_extended){
			.type = (uint16_t)i, .size = sizeof(item), .data = item};
		extended[1] = (struct ptl_extended){.type = 9, .size = 0, .data = item};
		event.extended = extended;
		event.extended_count = 2;
		event.flags |= PTL_EVENT_INJECTED;
	}
	return event;
}

struct checker {
	uint32_t next[2]; /* of each stream */
	uint64_t last_time;
	uint64_t seen;
};

/* Streams hold the even and the odd numbers; the cpu tells which one it is. */
static int check_event(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct checker *checker = context;
	const unsigned stream = event->cpu % 2;
	uint8_t storage[64];
	const struct ptl_event expected = make_event(checker->next[stream], storage);

	(void)trace;
	checker->next[stream] += 2;
	checker->seen++;
	assert_memory_equal(&event->descriptor.provider, &expected.descriptor.provider, 16);
	assert_int_equal(event->descriptor.id, expected.descriptor.id);
	assert_int_equal(event->descriptor.opcode, expected.descriptor.opcode);
	assert_int_equal(event->descriptor.keyword, expected.descriptor.keyword);
	assert_int_equal(event->time, expected.time);
	assert_int_equal(event->pid, expected.pid);
	assert_int_equal(event->tid, expected.tid);
	assert_int_equal(event->flags, expected.flags);
	assert_int_equal(event->payload_size, expected.payload_size);
	assert_memory_equal(event->payload, expected.payload, expected.payload_size);
	if (expected.flags & PTL_EVENT_HAS_ACTIVITY)
		assert_memory_equal(&event->activity, &expected.activity, 16);
	if (expected.flags & PTL_EVENT_HAS_RELATED)
		assert_memory_equal(&event->related, &expected.related, 16);
	assert_int_equal(event->extended_count, expected.extended_count);
	for (size_t i = 0; i < expected.extended_count; i++) {
		assert_int_equal(event->extended[i].type, expected.extended[i].type);
		assert_int_equal(event->extended[i].size, expected.extended[i].size);
		assert_memory_equal(event->extended[i].data, expected.extended[i].data,
				    expected.extended[i].size);
	}
	return 0;
}

static void write_many(int fd, const struct ptl_writer_options *options)
{
	struct ptl_writer *writer = sample_writer(fd, options);
	struct ptl_writer_counts counts;
	uint32_t streams[2];
	uint8_t storage[64];

	for (unsigned i = 0; i < 2; i++)
		streams[i] = sample_stream(writer, PTL_KIND_EVENTS, i);
	for (uint32_t i = 0; i < MANY; i++) {
		const struct ptl_event event = make_event(i, storage);

		assert_done(ptl_writer_event(writer, streams[i % 2], &event));
	}
	ptl_writer_counts(writer, &counts);
	assert_int_equal(counts.events, MANY);
	assert_int_equal(counts.lost_buffers, 0);
	assert_done(ptl_writer_close(writer));
}

static void check_many(int fd, bool ignore_index)
{
	const struct ptl_callbacks callbacks = {.event = check_event};
	struct checker checker = {.next = {0, 1}};
	struct ptl_trace *trace = sample_open(fd, ignore_index);

	assert_int_equal(ptl_damage_count(trace), 0);
	assert_true(ptl_trace_complete(trace));
	assert_done(ptl_process(trace, NULL, &callbacks, &checker));
	assert_int_equal(checker.seen, MANY);
	ptl_close(trace);
}

static void events_come_back(void **state)
{
	static const struct ptl_writer_options variants[] = {
		{.buffer_size = 4096},
		{.threads = 3, .buffer_size = 8192, .memory_limit = 65536},
		{.threads = 1, .level = 19},
		{.buffer_size = SIZE_MAX, .level = -5},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
		const int fd = sample_fd();

		write_many(fd, &variants[i]);
		check_many(fd, false);
		check_many(fd, true);
		close(fd);
	}
}

static int check_order(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct checker *checker = context;

	(void)trace;
	assert_true(event->time >= checker->last_time);
	/* Of equal times the stream of the lower id, whose thread is the lower too, comes first. */
	assert_true(event->time > checker->last_time || event->pid >= checker->seen % 1000);
	checker->last_time = event->time;
	checker->seen = event->pid;
	return 0;
}

static void streams_are_merged_by_time(void **state)
{
	const struct ptl_callbacks callbacks = {.event = check_order};
	const struct ptl_event_filter filter = {.first_time = 50, .last_time = 59};
	const int fd = sample_fd();
	struct ptl_writer *writer = sample_writer(
		fd, &(struct ptl_writer_options){.buffer_size = 4096});
	uint32_t streams[7];
	struct checker checker = {0};
	struct ptl_trace *trace;

	(void)state;
	for (uint32_t i = 0; i < 7; i++)
		streams[i] = sample_stream(writer, PTL_KIND_EVENTS, i);
	for (uint32_t i = 0; i < 7; i++)
		for (uint64_t k = 0; k < 3000; k++) {
			const struct ptl_event event = {.time = k * (i + 1) / 3, .pid = i};

			assert_done(ptl_writer_event(writer, streams[i], &event));
		}
	assert_done(ptl_writer_close(writer));
	trace = sample_open(fd, false);
	assert_done(ptl_process(trace, NULL, &callbacks, &checker));
	checker = (struct checker){0};
	assert_done(ptl_process(trace, &filter, &callbacks, &checker));
	assert_int_equal(checker.last_time, 59);
	ptl_close(trace);
	close(fd);
}

/* Streams of which each has its own second, or which all share one. */
static int merge_with(bool apart, size_t memory_limit)
{
	const struct ptl_callbacks callbacks = {.event = check_order};
	const struct ptl_open_options options = {.memory_limit = memory_limit};
	const int fd = sample_fd();
	struct ptl_writer *writer = sample_writer(fd, NULL);
	struct checker checker = {0};
	struct ptl_trace *trace;
	int status;

	for (uint32_t i = 0; i < 50; i++) {
		const uint32_t stream = sample_stream(writer, PTL_KIND_EVENTS, i);

		for (uint64_t k = 0; k < 100; k++) {
			const struct ptl_event event = {.time = k * 7 + (apart ? i * 1000 : 0),
							.pid = i};

			assert_done(ptl_writer_event(writer, stream, &event));
		}
	}
	assert_done(ptl_writer_close(writer));
	assert_done(ptl_open_fd(dup(fd), "sample", &options, &trace));
	status = ptl_process(trace, NULL, &callbacks, &checker);
	ptl_close(trace);
	close(fd);
	return status;
}

/* Only buffers whose turn has come take memory; what would pass the bound waits in a file. */
static void merging_keeps_its_bound(void **state)
{
	(void)state;
	assert_done(merge_with(false, 0));
	assert_done(merge_with(true, 4000));
	assert_done(merge_with(false, 4000));
}

static int add_everything(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct sample_content *content = context;

	sample_add_event(context, trace, event);
	ptl_sha256_add(content->hash, &event->descriptor.id, sizeof(event->descriptor.id));
	if (event->flags & PTL_EVENT_HAS_ACTIVITY)
		ptl_sha256_add(content->hash, event->activity.bytes, 16);
	for (size_t i = 0; i < event->extended_count; i++) {
		ptl_sha256_add(content->hash, &event->extended[i].type, sizeof(event->extended[i].type));
		ptl_sha256_add(content->hash, event->extended[i].data, event->extended[i].size);
	}
	return 0;
}

static void write_varied(struct ptl_writer *writer)
{
	static uint8_t payload[100000];

	for (uint32_t i = 0; i < 8; i++) {
		const uint32_t stream = sample_stream(writer, PTL_KIND_EVENTS, i);

		for (uint32_t k = 0; k < 3000; k++) {
			const struct ptl_extended items[] = {{.type = 3, .size = (uint16_t)(k % 41), .data = payload},
							     {.type = 4, .size = 0}};
			const struct ptl_event event = {
				.descriptor.id = (uint16_t)(k % 5),
				.time = 1000 + k * (i % 3 + 1),
				.pid = i,
				.tid = k % 7,
				.flags = k % 11 ? 0 : PTL_EVENT_HAS_ACTIVITY,
				.activity = {{(uint8_t)k}},
				.payload = payload,
				/* One is larger than what is read at once. */
				.payload_size = k == 1500 ? sizeof(payload) : k % 5 ? k % 300 : 24,
				.extended = items,
				.extended_count = k % 13 ? 0 : 1 + k % 2,
			};

			memset(payload, (int)(k + i), 300);
			assert_done(ptl_writer_event(writer, stream, &event));
		}
	}
}

/* What waits in a file comes back as it was: all of it, or where only some buffers have no room. */
static void spilled_events_come_back(void **state)
{
	static const size_t limits[] = {0, 1, 600000};
	const struct ptl_callbacks callbacks = {.event = add_everything};
	const int fd = sample_fd();
	struct ptl_writer *writer = sample_writer(fd, &(struct ptl_writer_options){.buffer_size = 65536});
	uint8_t digest[3][PTL_SHA256_SIZE];

	(void)state;
	write_varied(writer);
	assert_done(ptl_writer_close(writer));
	for (size_t i = 0; i < 3; i++) {
		const struct ptl_open_options options = {.memory_limit = limits[i]};
		struct sample_content content = {.hash = ptl_sha256_new()};
		struct ptl_trace *trace;

		assert_done(ptl_open_fd(dup(fd), "sample", &options, &trace));
		assert_done(ptl_process(trace, NULL, &callbacks, &content));
		assert_int_equal(content.events, 8 * 3000);
		ptl_sha256_finish(content.hash, digest[i]);
		ptl_sha256_free(content.hash);
		ptl_close(trace);
	}
	assert_memory_equal(digest[0], digest[1], PTL_SHA256_SIZE);
	assert_memory_equal(digest[0], digest[2], PTL_SHA256_SIZE);
	close(fd);
}

static int stop_at_third(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	(void)trace;
	(void)event;
	return ++*(int *)context == 3 ? PTL_CANCELLED : 0;
}

static void a_callback_can_stop(void **state)
{
	const struct ptl_callbacks callbacks = {.event = stop_at_third};
	const int fd = sample_fd();
	struct ptl_trace *trace;
	int calls = 0;

	(void)state;
	sample_write(fd, true);
	trace = sample_open(fd, false);
	assert_int_equal(ptl_process(trace, NULL, &callbacks, &calls), PTL_CANCELLED);
	assert_int_equal(calls, 3);
	ptl_close(trace);
	close(fd);
}

static void events_out_of_bounds_are_misuse(void **state)
{
	static uint8_t payload[PTL_PAYLOAD_MAX + 1];
	const int fd = sample_fd();
	struct ptl_writer *writer = sample_writer(fd, NULL);
	const uint32_t stream = sample_stream(writer, PTL_KIND_EVENTS, 0),
		       pt = sample_stream(writer, PTL_KIND_PT, 1);
	struct ptl_event event = {.payload = payload, .payload_size = sizeof(payload)};

	(void)state;
	assert_int_equal(ptl_writer_event(writer, stream, &event), PTL_MISUSE);
	event.payload_size--;
	assert_done(ptl_writer_event(writer, stream, &event));
	event.flags = 8;
	assert_int_equal(ptl_writer_event(writer, stream, &event), PTL_MISUSE);
	event.flags = 0;
	assert_int_equal(ptl_writer_event(writer, pt, &event), PTL_MISUSE);
	assert_int_equal(ptl_writer_event(writer, 0, &event), PTL_MISUSE);
	assert_int_equal(ptl_writer_event(writer, 99, &event), PTL_MISUSE);
	assert_int_equal(ptl_writer_bytes(writer, stream, "a", 1, 0), PTL_MISUSE);
	assert_int_equal(ptl_writer_psb(writer, stream, 0, 0), PTL_MISUSE);
	assert_done(ptl_writer_close(writer));
	close(fd);
}

/*
 * ---- bytes
 * ----------------------------------------------------------------------------------------------
 */

#define PT_SIZE 200000

static void bytes_and_holes_come_back(void **state)
{
	static uint8_t data[PT_SIZE], back[PT_SIZE];
	const int fd = sample_fd();
	struct ptl_writer *writer = sample_writer(
		fd, &(struct ptl_writer_options){.buffer_size = 4096, .threads = 1});
	const uint32_t stream = sample_stream(writer, PTL_KIND_PT, 1);
	struct ptl_trace *trace;
	uint64_t hole;
	size_t got;

	(void)state;
	for (size_t i = 0; i < PT_SIZE; i++)
		data[i] = (uint8_t)(i * i >> 5);
	assert_done(ptl_writer_hole(writer, stream, 10, 1));
	assert_done(ptl_writer_bytes(writer, stream, data, PT_SIZE / 2, 2));
	assert_done(ptl_writer_hole(writer, stream, 1000, 3));
	assert_done(ptl_writer_hole(writer, stream, 1000, 3));
	assert_done(ptl_writer_bytes(writer, stream, data + PT_SIZE / 2, PT_SIZE / 2, 4));
	assert_done(ptl_writer_hole(writer, stream, 77, 5));
	assert_done(ptl_writer_close(writer));
	trace = sample_open(fd, false);
	assert_int_equal(ptl_stream_find(trace, stream)->bytes, PT_SIZE + 10 + 2000 + 77);
	assert_int_equal(ptl_stream_find(trace, stream)->first_time, 1);
	assert_int_equal(ptl_stream_find(trace, stream)->last_time, 5);
	assert_done(ptl_stream_read(trace, stream, 0, back, 100, &got, &hole));
	assert_int_equal(got, 0);
	assert_int_equal(hole, 10);
	assert_done(ptl_stream_read(trace, stream, 10, back, PT_SIZE, &got, &hole));
	assert_int_equal(got, PT_SIZE / 2);
	assert_memory_equal(back, data, got);
	assert_done(ptl_stream_read(trace, stream, 10 + PT_SIZE / 2, back, 1, &got, &hole));
	assert_int_equal(hole, 2000);
	for (uint64_t at = PT_SIZE / 2; at < PT_SIZE; at += 3777) {
		const size_t want = PT_SIZE - at < 5000 ? PT_SIZE - at : 5000;

		assert_done(ptl_stream_read(trace, stream, 2010 + at, back, want, &got, &hole));
		assert_int_equal(got, want);
		assert_memory_equal(back, data + at, got);
	}
	assert_done(ptl_stream_read(trace, stream, 2010 + PT_SIZE, back, 9, &got, &hole));
	assert_int_equal(hole, 77);
	assert_done(ptl_stream_read(trace, stream, 2010 + PT_SIZE + 77, back, 9, &got, &hole));
	assert_int_equal(got + hole, 0);
	assert_int_equal(ptl_stream_read(trace, 0, 0, back, 9, &got, &hole), PTL_MISUSE);
	ptl_close(trace);
	close(fd);
}

/* PSBs may be told of before or after their bytes are handed in. */
static void psbs_come_back(void **state)
{
	const int fd = sample_fd();
	struct ptl_writer *writer = sample_writer(
		fd, &(struct ptl_writer_options){.buffer_size = 4096});
	const uint32_t stream = sample_stream(writer, PTL_KIND_PT, 1);
	static uint8_t data[40000];
	const struct ptl_psb *psbs;
	struct ptl_trace *trace;
	size_t count;

	(void)state;
	for (uint64_t i = 0; i < 1000; i++) {
		assert_done(ptl_writer_psb(writer, stream, i * 40 + i % 7,
					   i % 13 ? 1000 + i * 100 : 0));
		if (i % 50 == 49)
			assert_done(ptl_writer_bytes(writer, stream, data,
						     i % 100 == 49 ? 500 : 3500, i));
	}
	assert_int_equal(ptl_writer_psb(writer, stream, 999 * 40 + 10, 0), PTL_MISUSE);
	assert_done(ptl_writer_close(writer));
	for (int scanned = 0; scanned < 2; scanned++) {
		trace = sample_open(fd, scanned);
		assert_done(ptl_psb_index(trace, stream, &psbs, &count));
		assert_int_equal(count, 1000);
		for (uint64_t i = 0; i < 1000; i++) {
			assert_int_equal(psbs[i].offset, i * 40 + i % 7);
			assert_int_equal(psbs[i].time, i % 13 ? 1000 + i * 100 : 0);
		}
		ptl_close(trace);
	}
	close(fd);
}

/* Without entries PSBs are searched for, as the codec does it: over buffers, at the end of longer runs, not over holes. */
static void psbs_are_found(void **state)
{
	static const struct {
		unsigned at, pairs;
	} runs[] = {{0, 8}, {20, 9}, {100, 7}, {127, 8}, {190, 40}, {350, 8}, {366, 1}, {384, 16}, {500, 8}};
	uint8_t data[600] = {0};
	uint64_t expected[16];
	size_t expected_count = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++)
		for (unsigned k = 0; k < runs[i].pairs; k++)
			memcpy(data + runs[i].at + 2 * k, "\x02\x82", 2);
	for (size_t at = 0; (at = ptl_pt_find_psb(data, sizeof(data), at)) < sizeof(data); at += 16)
		expected[expected_count++] = at;
	assert_int_equal(expected_count, 7);
	for (size_t part = 1; part < 60; part++) {
		const int fd = sample_fd();
		struct ptl_writer *writer = sample_writer(fd, NULL);
		const uint32_t stream = sample_stream(writer, PTL_KIND_PT, 1);
		const struct ptl_psb *psbs;
		struct ptl_trace *trace;
		size_t count;

		for (size_t at = 0; at < sizeof(data); at += part) {
			assert_done(ptl_writer_bytes(writer, stream, data + at,
						     part < sizeof(data) - at ? part : sizeof(data) - at, 1));
			assert_done(ptl_writer_flush(writer));
		}
		/* Half a PSB on each side of a hole is none. */
		assert_done(ptl_writer_bytes(writer, stream, data, 8, 1));
		assert_done(ptl_writer_hole(writer, stream, 10, 1));
		assert_done(ptl_writer_bytes(writer, stream, data, 8, 1));
		assert_done(ptl_writer_close(writer));
		trace = sample_open(fd, part % 2);
		assert_done(ptl_psb_index(trace, stream, &psbs, &count));
		assert_int_equal(count, expected_count);
		for (size_t i = 0; i < count; i++)
			assert_int_equal(psbs[i].offset, expected[i]);
		ptl_close(trace);
		close(fd);
	}
}

struct reading {
	struct ptl_trace *trace;
	const char *failure;
};

static void *read_all(void *context)
{
	struct reading *reading = context;
	struct ptl_trace *trace = reading->trace;
	const struct ptl_stream *stream = ptl_stream_at(trace, ptl_stream_count(trace) - 1);
	uint8_t data[777];
	uint64_t hole, at = 0;
	size_t got;

	do {
		if (ptl_stream_read(trace, stream->id, at, data, sizeof(data), &got, &hole))
			reading->failure = "a read fails";
		for (size_t i = 0; i < got; i++)
			if (data[i] != (uint8_t)((at + i) >> 3))
				reading->failure = "a byte is wrong";
		at += got;
	} while (got && !reading->failure);
	if (at != PT_SIZE && !reading->failure)
		reading->failure = "bytes are missing";
	return NULL;
}

/* The cache is much smaller than the stream, so that threads take buffers away from each other. */
static void threads_may_read_together(void **state)
{
	static uint8_t data[PT_SIZE];
	const struct ptl_open_options options = {.memory_limit = 20000};
	const int fd = sample_fd();
	struct ptl_writer *writer = sample_writer(
		fd, &(struct ptl_writer_options){.buffer_size = 4096});
	const uint32_t stream = sample_stream(writer, PTL_KIND_TRUTH, 1);
	struct reading readings[4] = {0};
	pthread_t threads[4];
	struct ptl_trace *trace;

	(void)state;
	for (size_t i = 0; i < PT_SIZE; i++)
		data[i] = (uint8_t)(i >> 3);
	assert_done(ptl_writer_bytes(writer, stream, data, PT_SIZE, 1));
	assert_done(ptl_writer_close(writer));
	assert_done(ptl_open_fd(dup(fd), "sample", &options, &trace));
	for (int i = 0; i < 4; i++) {
		readings[i].trace = trace;
		assert_int_equal(pthread_create(&threads[i], NULL, read_all, &readings[i]), 0);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		if (readings[i].failure)
			fail_msg("%s", readings[i].failure);
	}
	ptl_close(trace);
	close(fd);
}

static void buffers_can_be_read_in_each_way(void **state)
{
	const int fd = sample_fd();
	const uint8_t *here;
	struct ptl_trace *trace;
	size_t size, again;
	uint8_t *fresh;

	(void)state;
	sample_write(fd, true);
	trace = sample_open(fd, false);
	for (size_t i = 0; i < ptl_buffer_count(trace); i++) {
		uint8_t own[65536];

		assert_done(ptl_buffer_read(trace, i, &fresh, &size));
		assert_int_equal(size, ptl_buffer_at(trace, i)->raw_size);
		assert_done(ptl_buffer_acquire(trace, i, &here, &again));
		assert_int_equal(size, again);
		assert_memory_equal(here, fresh, size);
		ptl_buffer_release(trace, i);
		assert_done(ptl_buffer_read_into(trace, i, own, sizeof(own)));
		assert_memory_equal(own, fresh, size);
		assert_int_equal(ptl_buffer_read_into(trace, i, own, size - 1), PTL_MISUSE);
		free(fresh);
	}
	assert_int_equal(ptl_buffer_read(trace, 999, &fresh, &size), PTL_MISUSE);
	assert_null(ptl_buffer_at(trace, 999));
	ptl_close(trace);
	close(fd);
}

/*
 * ---- blobs
 * ----------------------------------------------------------------------------------------------
 */

static void blobs_come_back(void **state)
{
	static uint8_t data[50000], into[sizeof(data) + 1];
	const size_t sizes[] = {0, 1, 4095, 4096, 4097, sizeof(data)};
	const int fd = sample_fd();
	struct ptl_writer *writer = sample_writer(
		fd, &(struct ptl_writer_options){.buffer_size = 4096, .threads = 2});
	uint8_t hash[6][PTL_HASH_SIZE], *back;
	struct ptl_trace *trace;
	size_t size;

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7 + (i >> 8));
	for (int twice = 0; twice < 2; twice++)
		for (size_t i = 0; i < 6; i++)
			assert_done(
				ptl_writer_blob(writer, PTL_BLOB_CODE, data, sizes[i], hash[i]));
	assert_done(ptl_writer_close(writer));
	trace = sample_open(fd, false);
	assert_int_equal(ptl_blob_count(trace), 6);
	for (size_t i = 0; i < 6; i++) {
		assert_done(ptl_blob_read(trace, hash[i], sizeof(data), &back, &size));
		assert_int_equal(size, sizes[i]);
		assert_memory_equal(back, data, size);
		free(back);
		memset(into, 0xee, sizeof(into));
		assert_done(ptl_blob_read_into(trace, hash[i], into, sizes[i], &size));
		assert_int_equal(size, sizes[i]);
		assert_memory_equal(into, data, size);
		assert_int_equal(into[size], 0xee);
		assert_int_equal(ptl_blob_find(trace, hash[i])->size, sizes[i]);
	}
	assert_int_equal(ptl_blob_read(trace, hash[5], sizeof(data) - 1, &back, &size),
			 PTL_NO_MEMORY);
	assert_int_equal(ptl_blob_read_into(trace, hash[5], into, sizeof(data) - 1, &size), PTL_NO_MEMORY);
	hash[0][0] ^= 1;
	assert_int_equal(ptl_blob_read_into(trace, hash[0], into, 10, &size), PTL_NOT_FOUND);
	assert_int_equal(ptl_blob_read(trace, hash[0], 10, &back, &size), PTL_NOT_FOUND);
	assert_null(ptl_blob_find(trace, hash[0]));
	ptl_close(trace);
	close(fd);
}

/*
 * ---- pipes, growth, time
 * --------------------------------------------------------------------------------
 */

struct pipe_copy {
	int from, to;
};

static void *copy_pipe(void *context)
{
	const struct pipe_copy *copy = context;
	uint8_t data[1000];
	ssize_t n;

	while ((n = read(copy->from, data, sizeof(data))) > 0)
		if (write(copy->to, data, (size_t)n) != n)
			break;
	close(copy->from);
	close(copy->to);
	return NULL;
}

static void a_pipe_carries_a_trace(void **state)
{
	int ends[2], back[2];
	struct pipe_copy copy;
	pthread_t thread;
	struct ptl_trace *trace;
	const int fd = sample_fd();
	struct ptl_bytes file;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	copy = (struct pipe_copy){ends[0], dup(fd)};
	assert_int_equal(pthread_create(&thread, NULL, copy_pipe, &copy), 0);
	write_many(ends[1], &(struct ptl_writer_options){.threads = 1, .buffer_size = 30000});
	close(ends[1]);
	pthread_join(thread, NULL);
	check_many(fd, false);
	/* And back: the reader spools what it cannot seek in. */
	assert_int_equal(pipe(back), 0);
	copy = (struct pipe_copy){dup(fd), back[1]};
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(pthread_create(&thread, NULL, copy_pipe, &copy), 0);
	assert_done(ptl_open_fd(back[0], "pipe", NULL, &trace));
	pthread_join(thread, NULL);
	assert_true(ptl_trace_complete(trace));
	file = sample_bytes(fd);
	assert_int_equal(ptl_trace_size(trace), file.size);
	ptl_bytes_free(&file);
	ptl_close(trace);
	close(fd);
}

static void a_growing_file_can_be_read(void **state)
{
	const int fd = sample_fd();
	struct ptl_writer *writer = sample_writer(fd, NULL);
	const uint32_t stream = sample_stream(writer, PTL_KIND_PT, 1);
	struct ptl_trace *trace;

	(void)state;
	for (uint64_t i = 1; i < 5; i++) {
		assert_done(ptl_writer_bytes(writer, stream, "12345", 5, i));
		assert_done(ptl_writer_flush(writer));
		trace = sample_open(fd, false);
		assert_false(ptl_trace_complete(trace));
		assert_int_equal(ptl_stream_find(trace, stream)->bytes, 5 * i);
		assert_int_equal(ptl_damage_count(trace), 1);
		assert_int_equal(ptl_damage_at(trace, 0)->status, PTL_TRUNCATED);
		ptl_close(trace);
	}
	ptl_writer_abandon(writer);
	close(fd);
}

static void old_buffers_are_flushed(void **state)
{
	const int fd = sample_fd();
	struct ptl_writer *writer = sample_writer(
		fd, &(struct ptl_writer_options){.flush_interval = 1000000});
	const uint32_t stream = sample_stream(writer, PTL_KIND_PT, 1);
	struct ptl_writer_counts before, after;

	(void)state;
	assert_done(ptl_writer_bytes(writer, stream, "a", 1, 1));
	ptl_writer_counts(writer, &before);
	usleep(3000);
	assert_done(ptl_writer_poll(writer));
	ptl_writer_counts(writer, &after);
	assert_true(after.buffers > before.buffers);
	assert_done(ptl_writer_close(writer));
	close(fd);
}

/* Whoever reads the file before it is closed must not find PT without what explains it. */
static void what_explains_pt_is_written_before_it(void **state)
{
	static const uint8_t pt[8192];
	const int fd = sample_fd();
	struct ptl_writer *writer =
		sample_writer(fd, &(struct ptl_writer_options){.buffer_size = sizeof(pt)});
	const uint32_t bytes = sample_stream(writer, PTL_KIND_PT, 1);
	const uint32_t events = sample_stream(writer, PTL_KIND_EVENTS, 1);
	uint8_t hash[PTL_HASH_SIZE];
	struct ptl_trace *trace;

	(void)state;
	assert_done(ptl_writer_blob(writer, PTL_BLOB_CODE, "code", 4, hash));
	sample_event(writer, events, 1, "thread");
	assert_done(ptl_writer_bytes(writer, bytes, pt, sizeof(pt), 2));
	trace = sample_open(fd, false);
	assert_int_equal(ptl_stream_find(trace, bytes)->bytes, sizeof(pt));
	assert_int_equal(ptl_stream_find(trace, events)->buffers, 1);
	assert_non_null(ptl_blob_find(trace, hash));
	ptl_close(trace);
	assert_done(ptl_writer_close(writer));
	close(fd);
}

static void what_is_no_trace_is_refused(void **state)
{
	struct ptl_trace *trace;
	const int fd = sample_fd();

	(void)state;
	assert_int_equal(ptl_open("/nowhere/at/all", NULL, &trace), PTL_SYSTEM);
	assert_non_null(strstr(ptl_error_text(), "/nowhere/at/all"));
	assert_int_equal(ptl_open("/", NULL, &trace), PTL_SYSTEM);
	assert_int_equal(ptl_open_fd(fd, "sample", NULL, &trace), PTL_TRUNCATED);
	assert_int_equal(write(fd, "text", 4), 4);
	assert_int_equal(ptl_open_fd(fd, "sample", NULL, &trace), PTL_NOT_OURS);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(machine_comes_back),
		cmocka_unit_test(losses_and_provenance_come_back),
		cmocka_unit_test(equal_schemas_are_stored_once),
		cmocka_unit_test(maps_add_up),
		cmocka_unit_test(schemas_keep_descriptors_and_tags),
		cmocka_unit_test(events_come_back),
		cmocka_unit_test(streams_are_merged_by_time),
		cmocka_unit_test(merging_keeps_its_bound),
		cmocka_unit_test(spilled_events_come_back),
		cmocka_unit_test(a_callback_can_stop),
		cmocka_unit_test(events_out_of_bounds_are_misuse),
		cmocka_unit_test(bytes_and_holes_come_back),
		cmocka_unit_test(psbs_come_back),
		cmocka_unit_test(psbs_are_found),
		cmocka_unit_test(threads_may_read_together),
		cmocka_unit_test(buffers_can_be_read_in_each_way),
		cmocka_unit_test(blobs_come_back),
		cmocka_unit_test(a_pipe_carries_a_trace),
		cmocka_unit_test(a_growing_file_can_be_read),
		cmocka_unit_test(old_buffers_are_flushed),
		cmocka_unit_test(what_explains_pt_is_written_before_it),
		cmocka_unit_test(what_is_no_trace_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
