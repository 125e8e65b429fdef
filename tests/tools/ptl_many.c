/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes a trace of very many objects of one kind, each as small as possible, to measure their memory. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ptl/kernel.h>
#include <ptl/writer.h>

#include "common/bytes.h"
#include "common/error.h"

/*
 *     ptl_many KIND COUNT OUT.ptl
 *
 * The table below lists the kinds. Process 1 always exists, and has the last event of the trace.
 */
struct many {
	struct ptl_writer *writer;
	uint32_t events; /* number of the event stream */
	uint64_t count, i, time;
	struct ptl_bytes storage;
	uint32_t stream; /* PT stream, once declared */
};

static void must(int status)
{
	if (status < 0) {
		fprintf(stderr, "ptl_many: %s\n", ptl_error_text());
		exit(1);
	}
}

static void put(struct many *many, struct ptl_event *event, uint32_t pid, uint32_t tid, int status)
{
	must(status);
	event->time = many->time++;
	event->cpu = PTL_NO_CPU;
	event->pid = pid;
	event->tid = tid;
	must(ptl_writer_event(many->writer, many->events, event));
	many->storage.size = 0;
}

static void put_process(struct many *many, uint32_t pid, uint8_t opcode)
{
	char line[64];
	struct ptl_process_event data = {.unique_key = pid,
					 .process_id = pid,
					 .parent_id = pid == 1 ? 0 : 1,
					 .image_file_name = "/usr/bin/program",
					 .command_line = line};
	struct ptl_event event = {0};

	snprintf(line, sizeof(line), "program --number %u", pid);
	put(many, &event, pid, pid, ptl_process_encode(&data, opcode, &many->storage, &event));
}

static void put_thread(struct many *many, uint32_t pid, uint32_t tid, uint8_t opcode)
{
	char name[32];
	struct ptl_thread_event data = {.process_id = pid, .thread_id = tid, .start_address = 0x401000, .name = name};
	struct ptl_event event = {0};

	snprintf(name, sizeof(name), "worker-%u", tid & 1023);
	put(many, &event, pid, tid, ptl_thread_encode(&data, opcode, &many->storage, &event));
}

/* distinct: the image has a name and hashes of its own. */
static void put_image(struct many *many, uint32_t pid, uint64_t number, bool distinct, uint8_t opcode)
{
	const uint64_t mark = distinct ? number : 0;
	char name[64];
	struct ptl_image_event data = {.base = 0x10000000 + number * 0x3000,
				       .size = 0x2000,
				       .process_id = pid,
				       .default_base = 0x1000,
				       .file_name = name,
				       .file_offset = 0x1000,
				       .protection = 5,
				       .inode = mark,
				       .build_id_size = 20,
				       .has_code = true,
				       .has_symbols = true};
	struct ptl_event event = {0};

	snprintf(name, sizeof(name), "/opt/application/plugins/plugin-%" PRIu64 ".so", mark);
	memset(data.build_id, 0x5a, sizeof(data.build_id));
	common_store64(data.build_id, mark);
	common_store64(data.code, mark * 0x9e3779b97f4a7c15);
	common_store64(data.symbols, mark * 0xbf58476d1ce4e5b9);
	put(many, &event, pid, pid, ptl_image_encode(&data, opcode, &many->storage, &event));
}

/* ---- the kinds --------------------------------------------------------------------------------------- */

static void add_nothing(struct many *many)
{
	struct ptl_event event = {.descriptor = {.provider = PTL_PROVIDER_KERNEL, .id = 1}};

	put(many, &event, 1, 1, 0);
}

static void add_image(struct many *many)
{
	put_image(many, 1, many->i, true, PTL_OPCODE_LOAD);
}

static void add_same_image(struct many *many)
{
	put_image(many, 1, many->i, false, PTL_OPCODE_LOAD);
}

static void add_code(struct many *many)
{
	struct ptl_code_event data = {.process_id = 1, .base = 0x10000000 + many->i * 0x40, .size = 0x20};
	struct ptl_event event = {0};

	common_store64(data.code, many->i * 0x9e3779b97f4a7c15);
	put(many, &event, 1, 1, ptl_code_encode(&data, &many->storage, &event));
}

/* Writes code into one image repeatedly: pieces of code. */
static void add_patch(struct many *many)
{
	struct ptl_image_event image = {.base = 0x10000000,
					.size = 0x40 * many->count,
					.process_id = 1,
					.file_name = "/usr/bin/program",
					.protection = 5};
	struct ptl_event event = {0};

	if (!many->i)
		put(many, &event, 1, 1, ptl_image_encode(&image, PTL_OPCODE_LOAD, &many->storage, &event));
	add_code(many);
}

static void add_process(struct many *many)
{
	put_process(many, (uint32_t)(many->i + 2), PTL_OPCODE_START);
}

static void add_tree(struct many *many)
{
	const uint32_t pid = (uint32_t)(many->i + 2);

	put_process(many, pid, PTL_OPCODE_START);
	put_thread(many, pid, pid, PTL_OPCODE_START);
	put_image(many, pid, 0, false, PTL_OPCODE_LOAD);
}

static void add_ended(struct many *many)
{
	add_process(many);
	put_process(many, (uint32_t)(many->i + 2), PTL_OPCODE_END);
}

static void add_thread(struct many *many)
{
	put_thread(many, 1, (uint32_t)(many->i + 2), PTL_OPCODE_START);
}

/* Adds events of processes without other reports. */
static void add_id(struct many *many)
{
	const uint32_t pid = (uint32_t)(many->i + 2);
	struct ptl_event event = {.descriptor = {.provider = PTL_PROVIDER_KERNEL, .id = 1}};

	put(many, &event, pid, pid, 0);
}

static void add_buffer(struct many *many)
{
	static const uint8_t bytes[16];

	if (!many->stream) {
		struct ptl_stream stream = {.kind = PTL_KIND_PT, .cpu = 0, .pid = PTL_NO_ID, .tid = PTL_NO_ID};

		must(ptl_writer_stream(many->writer, &stream));
		many->stream = stream.id;
	}
	must(ptl_writer_bytes(many->writer, many->stream, bytes, sizeof(bytes), ++many->time));
	must(ptl_writer_flush(many->writer));
}

/* Adds a buffer with one event. */
static void add_event_buffer(struct many *many)
{
	add_nothing(many);
	must(ptl_writer_flush(many->writer));
}

/* Adds a missing buffer between present buffers. */
static void add_hole(struct many *many)
{
	add_buffer(many);
	must(ptl_writer_hole(many->writer, many->stream, 16, many->time));
}

static void add_psb(struct many *many)
{
	static const uint8_t psb[16] = {2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82};
	static const uint8_t psbend[2] = {2, 0x23};

	if (!many->stream) {
		struct ptl_stream stream = {.kind = PTL_KIND_PT, .cpu = 0, .pid = PTL_NO_ID, .tid = PTL_NO_ID};

		must(ptl_writer_stream(many->writer, &stream));
		many->stream = stream.id;
	}
	must(ptl_writer_psb(many->writer, many->stream, many->i * 18, ++many->time));
	must(ptl_writer_bytes(many->writer, many->stream, psb, sizeof(psb), many->time));
	must(ptl_writer_bytes(many->writer, many->stream, psbend, sizeof(psbend), many->time));
}

static void add_blob(struct many *many)
{
	uint8_t data[8], hash[PTL_HASH_SIZE];

	common_store64(data, many->i);
	must(ptl_writer_blob(many->writer, PTL_BLOB_CODE, data, sizeof(data), hash));
}

/* Adds an image with code in the trace. */
static void add_plugin(struct many *many)
{
	struct ptl_image_event data = {.base = 0x10000000 + many->i * 0x3000,
				       .size = 0x2000,
				       .process_id = 1,
				       .file_name = "/opt/plugin.so",
				       .protection = 5,
				       .has_code = true};
	struct ptl_event event = {0};
	uint8_t bytes[8];

	common_store64(bytes, many->i);
	must(ptl_writer_blob(many->writer, PTL_BLOB_CODE, bytes, sizeof(bytes), data.code));
	put(many, &event, 1, 1, ptl_image_encode(&data, PTL_OPCODE_LOAD, &many->storage, &event));
}

static void add_schema(struct many *many)
{
	struct ptl_field field = {.name = "N", .type = PTL_TYPE_U32};
	struct ptl_schema schema = {.provider_name = "P",
				    .event_name = "E",
				    .task_name = "",
				    .opcode_name = "",
				    .message = "",
				    .fields = &field,
				    .field_count = 1};

	common_store64(schema.provider.bytes, many->i >> 16);
	schema.id = (uint16_t)many->i;
	must(ptl_writer_schema(many->writer, &schema));
}

static void add_map(struct many *many)
{
	char name[24];
	const struct ptl_map_entry entry = {1, "one"};
	const struct ptl_map map = {.name = name, .entries = &entry, .count = 1};

	snprintf(name, sizeof(name), "M%" PRIu64, many->i);
	must(ptl_writer_map(many->writer, &map));
}

static void add_loss(struct many *many)
{
	const struct ptl_loss loss = {.kind = PTL_LOSS_EVENTS,
				      .stream = PTL_NO_ID,
				      .pid = 1,
				      .tid = PTL_NO_ID,
				      .count = 1,
				      .first_time = many->i,
				      .cause = ""};

	must(ptl_writer_loss(many->writer, &loss));
}

static void add_provenance(struct many *many)
{
	const struct ptl_provenance step = {
		.tool = "t", .version = "", .command = "", .rules = "", .wall_time = (int64_t)many->i};

	must(ptl_writer_provenance(many->writer, &step));
}

static void add_stream(struct many *many)
{
	struct ptl_stream stream = {.kind = PTL_KIND_PT, .cpu = (uint32_t)many->i, .pid = PTL_NO_ID, .tid = PTL_NO_ID};

	must(ptl_writer_stream(many->writer, &stream));
}

/* Adds a stream with one event. */
static void add_event_stream(struct many *many)
{
	struct ptl_stream stream = {
		.kind = PTL_KIND_EVENTS, .cpu = (uint32_t)many->i, .pid = PTL_NO_ID, .tid = PTL_NO_ID};
	struct ptl_event event = {.descriptor = {.provider = PTL_PROVIDER_KERNEL, .id = 1},
				  .time = ++many->time,
				  .pid = 1,
				  .tid = 1,
				  .cpu = (uint32_t)many->i};

	must(ptl_writer_stream(many->writer, &stream));
	must(ptl_writer_event(many->writer, stream.id, &event));
	if (!(many->i & 255))
		must(ptl_writer_flush(many->writer));
}

static const struct {
	const char *name;
	void (*add)(struct many *many);
} kinds[] = {
	{"events", add_nothing},
	{"images", add_image},           /* live images of one process, each with a name, build id and hashes */
	{"same-images", add_same_image}, /* images of the same file */
	{"code", add_code},              /* ranges of written code */
	{"patches", add_patch},          /* ranges of written code in one image */
	{"processes", add_process},      /* live processes */
	{"trees", add_tree},             /* processes with a thread and an image each */
	{"ended", add_ended},            /* ended processes */
	{"threads", add_thread},         /* threads of one process */
	{"ids", add_id},                 /* processes known by events only */
	{"buffers", add_buffer},         /* buffers of 16 bytes of PT */
	{"event-buffers", add_event_buffer},
	{"holes", add_hole},
	{"psbs", add_psb},
	{"blobs", add_blob},
	{"plugins", add_plugin}, /* images with code in the trace */
	{"schemas", add_schema},
	{"maps", add_map},
	{"losses", add_loss},
	{"provenance", add_provenance},
	{"streams", add_stream}, /* streams without data */
	{"event-streams", add_event_stream},
};

static void write_all(struct many *many, void (*add)(struct many *many))
{
	const struct ptl_machine machine = {.source = "many",
					    .clock = PTL_CLOCK_MONOTONIC,
					    .start_time = 1000,
					    .end_time = 1000 + 4 * many->count,
					    .boot_id = "many"};
	struct ptl_stream stream = {.kind = PTL_KIND_EVENTS, .cpu = PTL_NO_CPU, .pid = PTL_NO_ID, .tid = PTL_NO_ID};
	size_t count;
	const struct ptl_schema *const *schemas = ptl_kernel_schemas(&count);

	must(ptl_writer_machine(many->writer, &machine));
	must(ptl_writer_stream(many->writer, &stream));
	many->events = stream.id;
	many->time = 1000;
	for (size_t i = 0; i < count; i++)
		must(ptl_writer_schema(many->writer, schemas[i]));
	put_process(many, 1, PTL_OPCODE_START);
	for (; many->i < many->count; many->i++)
		add(many);
	add_nothing(many);
}

int main(int argc, char **argv)
{
	struct many many = {.count = argc == 4 ? strtoull(argv[2], NULL, 10) : 0};
	struct ptl_writer_options options = {.size = sizeof(options), .level = 1};
	int fd;

	for (size_t i = 0; argc == 4 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(argv[1], kinds[i].name) != 0)
			continue;
		fd = open(argv[3], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		if (fd < 0) {
			perror(argv[3]);
			return 1;
		}
		must(ptl_writer_open(fd, &options, &many.writer));
		write_all(&many, kinds[i].add);
		must(ptl_writer_close(many.writer));
		common_bytes_free(&many.storage);
		return 0;
	}
	fprintf(stderr, "usage: ptl_many KIND COUNT OUT.ptl; the kinds are in ptl_many.c\n");
	return 2;
}
