/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes the application of rules. Input: a rule file up to a zero byte; then events, each a byte for class, opcode,
 * time, pid and size, and the payload. Rules that name files are skipped. All payload bytes of output events must be
 * readable.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ptl/kernel.h>
#include <ptl/writer.h>

#include "common/bytes.h"
#include "relog/rules/parse.h"
#include "relog/rules/run.h"

#define OUTPUT_MAX 100000u /* events; rules cannot make more of a few events */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned written;

static int take(void *context, const struct ptl_event *event)
{
	volatile uint8_t sum = 0;

	(void)context;
	for (size_t i = 0; event && i < event->payload_size; i++)
		sum = (uint8_t)(sum + event->payload[i]);
	return ++written < OUTPUT_MAX ? 0 : PTL_CANCELLED;
}

static int schema(void *context, const struct ptl_schema *schema)
{
	(void)context;
	return schema->field_count && !schema->fields ? PTL_CANCELLED : 0;
}

static int map(void *context, const struct ptl_map *map)
{
	(void)context;
	return map->count && !map->entries ? PTL_CANCELLED : 0;
}

static int blob(void *context, uint32_t type, const void *data, size_t size, uint8_t hash[PTL_HASH_SIZE])
{
	(void)context;
	(void)type;
	(void)data;
	(void)size;
	memset(hash, 0, PTL_HASH_SIZE);
	return 0;
}

static int blob_file(void *context, uint32_t type, int fd, uint64_t offset, uint64_t size, uint8_t hash[PTL_HASH_SIZE])
{
	(void)fd;
	(void)offset;
	(void)size;
	return blob(context, type, "", 0, hash);
}

/* An empty trace with the schemas of the kernel's classes. */
static struct ptl_trace *make_trace(void)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	int copy = dup(fd);
	struct ptl_writer *writer;
	struct ptl_trace *trace;
	size_t count;
	const struct ptl_schema *const *schemas = ptl_kernel_schemas(&count);

	if (ptl_writer_open(copy, NULL, &writer))
		abort();
	for (size_t i = 0; i < count; i++)
		if (ptl_writer_schema(writer, schemas[i]))
			abort();
	if (ptl_writer_close(writer) || ptl_open_fd(fd, "fuzz", NULL, &trace))
		abort();
	return trace;
}

static bool names_files(const char *text)
{
	static const char *const words[] = {"u8", "u16", "u32", "u64", "code", "symbols", "debug"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(text, words[i]))
			return true;
	return false;
}

static struct ptl_event next_event(struct common_cursor *in, uint64_t *time)
{
	const struct ptl_guid providers[] = {
		PTL_PROVIDER_PROCESS, PTL_PROVIDER_THREAD, PTL_PROVIDER_IMAGE, PTL_PROVIDER_CODE, {{1}}};
	unsigned class = common_read8(in) % 5;
	struct ptl_event event = {.descriptor = {.provider = providers[class]}};

	event.descriptor.version = class < 3 ? 0x83 : class == 3;
	event.descriptor.opcode = common_read8(in);
	event.time = *time += common_read8(in);
	event.pid = event.tid = common_read8(in) % 4;
	event.payload_size = common_read8(in);
	if (event.payload_size > common_cursor_left(in))
		event.payload_size = common_cursor_left(in);
	event.payload = common_read_bytes(in, event.payload_size);
	return event;
}

static void apply(const struct rules *rules, const uint8_t *data, size_t size)
{
	static struct ptl_trace *trace;
	const struct rules_output output = {
		.pass = take, .inject = take, .schema = schema, .map = map, .blob = blob, .blob_file = blob_file};
	const struct rules_options options = {.replace = size % 2};
	struct common_cursor in = common_cursor(data, size);
	struct rules_run *run;
	uint64_t time = 1;
	int status;

	if (!trace)
		trace = make_trace();
	written = 0;
	if (rules_run_new(rules, &output, &options, &trace, 1, &run))
		return;
	for (status = 0; !status && common_cursor_left(&in);) {
		struct ptl_event event = next_event(&in, &time);

		status = rules_run_event(run, trace, &event);
	}
	if (!status)
		rules_run_end(run);
	rules_run_free(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = size ? memchr(data, 0, size) : NULL;
	struct rules rules;

	if (!end || names_files((const char *)data) ||
	    rules_parse("rules", (const char *)data, (size_t)(end - data), &rules))
		return 0;
	apply(&rules, end + 1, size - (size_t)(end - data) - 1);
	rules_free(&rules);
	return 0;
}
