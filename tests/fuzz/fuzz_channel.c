/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzzes the recorder's side of the shared memory, which a traced program may overwrite. */
/*
 * Input, little-endian: u8 flags (1: the slot has ended, 4: with virtual CPUs), u16 number of bytes xored into the
 * slot's state, u16 number of bytes of messages, these bytes, and PT bytes up to the end.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/program/message.h"
#include "record/capture/machine.h"
#include "record/channel/source.h"

#define RING 65536u
#define FLAG_ENDED 1u
#define FLAG_CPUS 4u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	uint8_t flags;
	const uint8_t *state;
	size_t state_size;
	const uint8_t *messages;
	size_t messages_size;
	const uint8_t *pt;
	size_t pt_size;
};

static size_t at_most(size_t size, size_t limit)
{
	return size < limit ? size : limit;
}

static struct input split(const uint8_t *data, size_t size)
{
	struct input input = {0};

	if (size < 5)
		return input;
	input.flags = data[0];
	input.state = data + 5;
	input.state_size = at_most(at_most(common_load16(data + 1), size - 5), sizeof(struct channel_slot));
	input.messages = input.state + input.state_size;
	input.messages_size = at_most(at_most(common_load16(data + 3), size - 5 - input.state_size), RING);
	input.pt = input.messages + input.messages_size;
	input.pt_size = at_most(size - 5 - input.state_size - input.messages_size, RING);
	return input;
}

/* Fills a slot as a thread would, and applies the input's damage. */
static void fill(struct record_channel *channel, const struct input *input)
{
	struct channel_slot *slot = channel_slot(&channel->channel, 0);
	uint8_t *bytes = (uint8_t *)slot;

	slot->pid = slot->tid = 0x7fffffff;
	slot->process = 1;
	slot->message_head = input->messages_size;
	slot->pt_head = input->pt_size;
	slot->status = input->flags & FLAG_ENDED ? CHANNEL_SLOT_ENDED : CHANNEL_SLOT_LIVE;
	for (size_t i = 0; i < input->state_size; i++)
		bytes[i] ^= input->state[i];
	if (input->messages_size)
		memcpy(bytes + channel_slot_message_ring(), input->messages, input->messages_size);
	if (input->pt_size)
		memcpy(bytes + channel_slot_pt_ring(&channel->channel.config), input->pt, input->pt_size);
	channel->channel.header->slot_high = 1;
}

static void run(struct record_capture *capture, const struct input *input)
{
	const struct channel_config config = {
		.slot_count = 2,
		.psb_period = 4096,
		.cpu_count = input->flags & FLAG_CPUS ? 2 : 0,
		.clock = PTL_CLOCK_MONOTONIC,
		.pt_ring_size = RING,
		.message_ring_size = RING,
	};
	struct record_channel channel;
	bool work = false;

	if (record_channel_open(&channel, capture, &config) < 0)
		abort();
	channel.notes = 1000; /* quiet */
	fill(&channel, input);
	if (record_channel_drain(&channel, &work) < 0 || record_capture_advance(capture, 0) < 0 ||
	    record_channel_reap_all(&channel) < 0 || record_channel_cpus_finish(&channel.cpus) < 0 ||
	    record_channel_count_losses(&channel) < 0) {
		fprintf(stderr, "fuzz_channel: %s\n", ptl_error_text());
		abort();
	}
	record_channel_close(&channel);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct input input = split(data, size);
	char *const words[] = {(char *)"fuzz", NULL};
	const struct record_settings settings = {
		.output = "/dev/null",
		.level = 1,
		.embed = ELF_EMBED_SYMBOLS,
		.clock = PTL_CLOCK_MONOTONIC,
		.command_line = words,
		.command = words,
	};
	struct record_capture capture;
	struct ptl_machine machine;

	common_message_start("fuzz_channel", true);
	record_machine_describe(&settings, &machine);
	if (record_capture_open(&capture, &settings, "/dev/null", &machine) < 0)
		abort();
	run(&capture, &input);
	if (record_capture_close(&capture, 1) < 0)
		abort();
	return 0;
}
