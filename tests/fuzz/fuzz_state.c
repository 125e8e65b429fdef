/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Folds any events of the kernel's classes into a state: five bytes (class, opcode, process, time, place) make an
 * event. The first state's rundown, folded into a second state, must give the same rundown.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <ptl/state.h>

#include "common/bytes.h"
#include "common/sha256.h"

#define EVENT 8u
#define PAGE 0x1000ull

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct reported {
	struct ptl_state *into; /* may be NULL */
	struct ptl_bytes bytes;
};

static int take(void *context, const struct ptl_event *event)
{
	struct reported *reported = context;

	common_write_bytes(&reported->bytes, &event->descriptor.opcode, 1);
	common_write_bytes(&reported->bytes, event->payload, event->payload_size);
	return reported->into ? ptl_state_event(reported->into, event) : 0;
}

static void tell(struct ptl_state *state, struct reported *reported)
{
	const struct ptl_rundown rundown = {.size = sizeof(rundown),
					    .pid = PTL_NO_ID,
					    .time = 1,
					    .opcode = PTL_OPCODE_START_RUNDOWN,
					    .take = take,
					    .context = reported};

	if (ptl_state_rundown(state, &rundown))
		abort();
}

/* Returns an address near either end of the address space, close to other addresses. */
static uint64_t address(uint8_t byte)
{
	return byte & 0x80 ? UINT64_MAX - (byte & 0x7fu) * PAGE : byte * PAGE;
}

static int encode(const uint8_t at[EVENT], struct ptl_bytes *storage, struct ptl_event *event)
{
	const uint8_t opcodes[] = {
		PTL_OPCODE_START,   PTL_OPCODE_END, PTL_OPCODE_START_RUNDOWN, PTL_OPCODE_END_RUNDOWN, PTL_OPCODE_LOAD,
		PTL_OPCODE_PROTECT, at[7],          PTL_OPCODE_LOAD};
	const uint8_t opcode = opcodes[at[1] % 8];
	const struct ptl_process_event process = {.unique_key = at[4] % 4,
						  .process_id = at[2] % 4,
						  .parent_id = at[5] % 4,
						  .image_file_name = at[6] % 2 ? "/a" : "",
						  .command_line = ""};
	const struct ptl_thread_event thread = {.process_id = at[2] % 4, .thread_id = at[4] % 4, .name = "t"};
	const struct ptl_image_event image = {.base = address(at[4]),
					      .size = at[5] * PAGE,
					      .process_id = at[2] % 4,
					      .file_name = at[6] % 2 ? "a" : "b",
					      .protection = at[6]};
	struct ptl_code_event code = {.process_id = at[2] % 4, .base = address(at[4]) + at[6], .size = at[5] * 7u};

	memset(code.code, at[7], sizeof(code.code));
	switch (at[0] % 8) {
	case 0:
		return ptl_process_encode(&process, opcode, storage, event);
	case 1:
		return ptl_thread_encode(&thread, opcode, storage, event);
	case 2:
	case 3:
		return ptl_code_encode(&code, storage, event);
	default:
		return ptl_image_encode(&image, opcode, storage, event);
	}
}

static void fold(struct ptl_state *state, const uint8_t *data, size_t size)
{
	struct ptl_bytes storage = {0};
	uint64_t time = 10;

	for (size_t i = 0; i + EVENT <= size; i += EVENT) {
		struct ptl_event event = {0};

		storage.size = 0;
		if (encode(data + i, &storage, &event))
			abort();
		time += data[i + 3] % 3;
		event.time = time;
		/* A truncated payload is ignored and changes nothing. */
		if (data[i + 3] == 0xff)
			event.payload_size /= 2;
		if (ptl_state_event(state, &event))
			abort();
	}
	common_bytes_free(&storage);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ptl_state *first, *second;
	struct reported once = {0}, twice = {0};
	struct ptl_state_process process;

	if (ptl_state_new(&first) || ptl_state_new(&second))
		abort();
	fold(first, data, size > 4096 ? 4096 : size);
	once.into = second;
	tell(first, &once);
	tell(second, &twice);
	if (once.bytes.size != twice.bytes.size ||
	    (once.bytes.size && memcmp(once.bytes.data, twice.bytes.data, once.bytes.size) != 0))
		abort();
	for (size_t i = 0; ptl_state_process_at(first, i, &process); i++)
		ptl_state_find_image(first, process.pid, 0, UINT64_MAX);
	common_bytes_free(&once.bytes);
	common_bytes_free(&twice.bytes);
	ptl_state_free(first);
	ptl_state_free(second);
	return 0;
}
