/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes the recorder's reading of the Intel PT rings, which are shared with the kernel.
 * Input, little-endian: u8 flags (1: the area is overwritten, 2: no more data, 4: drained again with moved positions),
 * u64 data_tail, u64 data_head, u64 aux_head, then bytes of the record ring from data_tail on. The area holds PSBs.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/program/message.h"
#include "record/intel_pt/intel_pt_state.h"

#define DATA 4096u
#define AUX 8192u
#define FLAG_OVERWRITES 1u
#define FLAG_FINISHING 2u
#define FLAG_AGAIN 4u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void drain(struct intel_pt *pt, struct intel_pt_buffer *buffer)
{
	bool work = false;

	if (intel_pt_drain(pt, buffer, &work) < 0)
		abort();
}

static void fill(uint8_t *aux)
{
	for (size_t i = 0; i < AUX; i++)
		aux[i] = i % 64 < 16 ? (i % 2 ? 0x82 : 0x02) : (uint8_t)(i * 7);
}

static void run(struct record_session *session, struct common_cursor *input)
{
	const uint8_t flags = (uint8_t)common_read_le(input, 1);
	const uint64_t tail = common_read_le(input, 8), head = common_read_le(input, 8), aux = common_read_le(input, 8);
	const size_t page_size = (size_t)sysconf(_SC_PAGESIZE), left = input->failed ? 0 : common_cursor_left(input);
	const uint8_t *bytes = common_read_bytes(input, left);
	uint8_t *memory = calloc(1, page_size + DATA), *area = malloc(AUX);
	struct intel_pt pt = {.session = session, .finishing = flags & FLAG_FINISHING};
	struct intel_pt_buffer buffer = {.cpu = 1};
	struct perf_event_mmap_page *page = (struct perf_event_mmap_page *)(void *)memory;

	if (!memory || !area)
		abort();
	fill(area);
	for (size_t i = 0; i < left && i < DATA; i++)
		memory[page_size + ((tail + i) & (DATA - 1))] = bytes[i];
	page->data_tail = tail;
	page->data_head = head;
	page->aux_head = aux;
	buffer.ring = (struct intel_pt_ring){.data = {.page = page,
						      .data = memory + page_size,
						      .size = DATA,
						      .record = malloc(RECORD_DATA_RING_RECORD_MAX)},
					     .aux = area,
					     .aux_size = AUX,
					     .overwrites = flags & FLAG_OVERWRITES};
	if (!buffer.ring.data.record ||
	    intel_pt_stream_open(&buffer.stream, &session->capture, 1, PTL_NO_ID, PTL_NO_ID) < 0 ||
	    record_capture_event_stream(&session->capture, &buffer.events) < 0)
		abort();
	drain(&pt, &buffer);
	if (flags & FLAG_AGAIN) {
		page->data_head += left;
		page->aux_head += 4000;
		drain(&pt, &buffer);
	}
	if (intel_pt_stream_finish(&buffer.stream) < 0)
		abort();
	free(buffer.ring.data.record);
	free(memory);
	free(area);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *const words[] = {(char *)"fuzz", NULL};
	const struct record_settings settings = {
		.output = "/dev/null", .level = 1, .command_line = words, .clock = PTL_CLOCK_MONOTONIC};
	const struct ptl_machine machine = {
		.source = "intel_pt", .clock = PTL_CLOCK_MONOTONIC, .start_time = 1, .tsc_multiplier = 1};
	struct common_cursor input = common_cursor(data, size);
	struct record_session session = {.settings = &settings};

	common_message_start("fuzz", true);
	if (record_capture_open(&session.capture, &settings, "/dev/null", &machine) < 0)
		abort();
	run(&session, &input);
	if (record_capture_close(&session.capture, 2) < 0)
		abort();
	return 0;
}
