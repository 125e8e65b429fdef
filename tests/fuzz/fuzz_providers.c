/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes the recorder's reading of a program with providers: process file, schemas and rings. The program may overwrite
 * all of them at any time.
 */
/*
 * Input, little-endian: u8 flags (1: the files are truncated while mapped, 2: the bytes are written twice, 4: too many
 * rings, 8: the program belongs to another user), u16 number of bytes xored into the process file's header, u16 the
 * same for its first entry, u16 number of bytes of schemas, these bytes, and bytes of the ring up to the end.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/program/message.h"
#include "record/capture/machine.h"
#include "record/provider/providers_state.h"

#define RING 4096u
#define PID 0x7fffffffu
#define PROCESS "process.2147483647.00000000000000aa"
#define RINGS "rings.2147483647.00000000000000aa.00000000000000bb"
#define FLAG_CUT 1u
#define FLAG_AGAIN 2u
#define FLAG_RINGS 4u
#define FLAG_OTHER 8u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	uint8_t flags;
	struct common_cursor header, entry, schemas, ring;
};

static struct common_cursor take(struct common_cursor *from, size_t size, size_t limit)
{
	const size_t left = common_cursor_left(from);

	size = size < left ? size : left;
	size = size < limit ? size : limit;
	return common_cursor(common_read_bytes(from, size), size);
}

static struct input split(const uint8_t *data, size_t size)
{
	struct common_cursor all = common_cursor(data, size);
	struct input input = {.flags = (uint8_t)common_read_le(&all, 1)};
	const size_t header = common_read_le(&all, 2), entry = common_read_le(&all, 2);
	const size_t schemas = common_read_le(&all, 2);

	all.failed = false;
	input.header = take(&all, header, sizeof(struct provider_shm_process));
	input.entry = take(&all, entry, sizeof(struct provider_shm_provider));
	input.schemas = take(&all, schemas, UINT16_MAX);
	input.ring = take(&all, SIZE_MAX, RING);
	return input;
}

static void xor_into(void *target, const struct common_cursor *bytes)
{
	for (size_t i = 0; i < bytes->size; i++)
		((uint8_t *)target)[i] ^= bytes->data[i];
}

static void put(int file, const void *bytes, size_t size, uint64_t at)
{
	if (size && pwrite(file, bytes, size, (off_t)at) != (ssize_t)size)
		abort();
}

static int make(int folder, const char *name, uint64_t size)
{
	const int file = openat(folder, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (file < 0 || ftruncate(file, (off_t)size) < 0)
		abort();
	return file;
}

/* Makes the files of a program and applies the input's damage. */
static int make_process(int folder, const struct input *input)
{
	struct provider_shm_process header = {
		.magic = PROVIDER_SHM_PROCESS_MAGIC,
		.version = PROVIDER_SHM_VERSION,
		.pid = PID,
		.id = 0xaa,
		.pid_namespace = input->flags & FLAG_OTHER ? 0 : 1,
		.clock = PTL_CLOCK_MONOTONIC,
		.heap_end = PROVIDER_SHM_HEAP_OFFSET + input->schemas.size,
		.provider_count = 2,
		.program = "fuzz",
	};
	struct provider_shm_provider entry = {
		.state = PROVIDER_SHM_REGISTERED,
		.guid = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}},
		.name = "Fuzz",
	};
	const int file = make(folder, PROCESS, PROVIDER_SHM_HEAP_OFFSET);

	xor_into(&header, &input->header);
	put(file, &header, sizeof(header), 0);
	xor_into(&entry, &input->entry);
	put(file, &entry, sizeof(entry), PROVIDER_SHM_PROVIDER_OFFSET(0));
	/* GUID of the kernel's process class */
	entry.guid = (struct ptl_guid)PTL_GUID(0x3d6fa8d0, 0xfe05, 0x11d0, 0x9dda, 0x00c04fd7ba7c);
	put(file, &entry, sizeof(entry), PROVIDER_SHM_PROVIDER_OFFSET(1));
	put(file, input->schemas.data, input->schemas.size, PROVIDER_SHM_HEAP_OFFSET);
	return file;
}

static void write_ring(int file, const struct input *input, uint64_t head)
{
	struct provider_shm_ring ring = {.head = head, .state = PROVIDER_SHM_RING_ACTIVE};

	put(file, &ring.head, sizeof(ring.head), PROVIDER_SHM_RING_OFFSET(RING, 0));
	put(file, input->ring.data, input->ring.size, PROVIDER_SHM_RING_OFFSET(RING, 0) + PROVIDER_SHM_PAGE);
}

static int make_rings(int folder, const struct input *input)
{
	struct provider_shm_rings first = {
		.magic = PROVIDER_SHM_RINGS_MAGIC,
		.version = PROVIDER_SHM_VERSION,
		.pid = PID,
		.id = 0xaa,
		.session = 0xbb,
		.ring_size = RING,
		.ring_count = input->flags & FLAG_RINGS ? 100 : 1,
		.lost = {input->ring.size, 3},
	};
	const int file = make(folder, RINGS, PROVIDER_SHM_RING_OFFSET(RING, 1));

	put(file, &first, sizeof(first), 0);
	write_ring(file, input, input->ring.size);
	return file;
}

static void step(struct record_providers *providers)
{
	const uint64_t now = record_now();
	int status = 0;

	for (size_t i = 0; status == 0 && i < providers->count; i++)
		status = record_writer_copy(providers, providers->writers[i], now);
	if (status == 0)
		status = record_providers_deliver(providers, UINT64_MAX, UINT64_MAX);
	for (size_t i = 0; status == 0 && i < providers->count; i++) {
		record_writer_turn(providers, providers->writers[i], now);
		record_writer_look(providers->writers[i], now);
		status = record_writer_report_losses(providers, providers->writers[i], now, true);
	}
	if (status < 0)
		abort();
}

static void run(struct record_capture *capture, int folder, const struct input *input)
{
	struct record_providers_common common = {
		.capture = capture,
		.ordered.capture = capture,
		.programs.most = 8,
		.rings.most = 64,
		.schema_bytes.most = 1u << 20,
	};
	struct record_providers *providers = calloc(1, sizeof(*providers));
	const int process = make_process(folder, input), rings = make_rings(folder, input);

	if (!providers)
		abort();
	providers->common = &common;
	providers->capture = capture;
	providers->is_other = input->flags & FLAG_OTHER;
	providers->user = geteuid();
	providers->folder = folder;
	providers->watch = providers->session.lock = -1;
	providers->everyone = true;
	providers->left_out = RECORD_LEFT_OUT_MAX; /* quiet */
	providers->session.file.session = (struct provider_shm_session){.id = 0xbb, .ring_size = RING};
	if (record_writers_list(providers) < 0)
		abort();
	step(providers);
	if (input->flags & FLAG_AGAIN) {
		write_ring(rings, input, 2 * input->ring.size);
		step(providers);
	}
	if (input->flags & FLAG_CUT && (ftruncate(process, PROVIDER_SHM_PAGE / 2) < 0 || ftruncate(rings, 0) < 0))
		abort();
	step(providers);
	while (providers->count)
		record_writer_remove(providers, providers->count - 1);
	free(providers->writers);
	free(providers->heap);
	common_byte_map_free(&common.schemas);
	free(providers);
	close(process);
	close(rings);
}

static char scratch_name[] = "/tmp/ptl-fuzz-XXXXXX";

static void remove_scratch(void)
{
	(void)rmdir(scratch_name);
}

/* Returns a folder shared by all runs. */
static int scratch(void)
{
	static int folder = -1;

	if (folder < 0) {
		if (mkdtemp(scratch_name))
			folder = open(scratch_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (folder < 0 || atexit(remove_scratch))
			abort();
	}
	return folder;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct input input = split(data, size);
	char *const words[] = {(char *)"fuzz", NULL};
	const struct record_settings settings = {
		.output = "/dev/null",
		.level = 1,
		.clock = PTL_CLOCK_MONOTONIC,
		.command_line = words,
		.command = words,
		.attach = true,
	};
	struct record_capture capture;
	struct ptl_machine machine;

	common_message_start("fuzz_providers", true);
	record_machine_describe(&settings, &machine);
	if (record_capture_open(&capture, &settings, "/dev/null", &machine) < 0)
		abort();
	run(&capture, scratch(), &input);
	if (record_capture_close(&capture, 1) < 0)
		abort();
	(void)unlinkat(scratch(), PROCESS, 0);
	(void)unlinkat(scratch(), RINGS, 0);
	return 0;
}
