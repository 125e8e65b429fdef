/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes the recorder's end of the memory it shares with traced programs, which may write anything
 * there.
 */
/*
 * Input: u8 flags (1: the slot has ended, 2: with truth), u16 number of bytes that are xored into
 * the slot's state, u16 number of bytes of messages, these bytes, and PT bytes up to the end. All
 * little-endian.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/program/message.h"
#include "record/capture/machine.h"
#include "record/qemu/source.h"

#define RING 65536u
#define FLAG_ENDED 1u
#define FLAG_TRUTH 2u
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
	input.state_size = at_most(at_most(common_load16(data + 1), size - 5), sizeof(struct qemu_slot));
	input.messages = input.state + input.state_size;
	input.messages_size = at_most(at_most(common_load16(data + 3), size - 5 - input.state_size), RING);
	input.pt = input.messages + input.messages_size;
	input.pt_size = at_most(size - 5 - input.state_size - input.messages_size, RING);
	return input;
}

/* A slot as a thread would leave it, and the input's damage to it. */
static void fill(struct record_qemu *qemu, const struct input *input)
{
	struct qemu_slot *slot = qemu_channel_slot(&qemu->channel, 0);
	uint8_t *bytes = (uint8_t *)slot;

	slot->pid = slot->tid = slot->claimant_pid = 0x7fffffff;
	slot->process = 1;
	slot->message_head = input->messages_size;
	slot->pt_head = slot->commit_head = input->pt_size;
	slot->tnt = 1u << QEMU_TNT_SHIFT;
	slot->status = input->flags & FLAG_ENDED ? QEMU_SLOT_ENDED : QEMU_SLOT_LIVE;
	for (size_t i = 0; i < input->state_size; i++)
		bytes[i] ^= input->state[i];
	if (input->messages_size)
		memcpy(bytes + qemu_slot_message_ring(), input->messages, input->messages_size);
	if (input->pt_size)
		memcpy(bytes + qemu_slot_pt_ring(&qemu->channel.config), input->pt, input->pt_size);
	qemu->channel.header->slot_high = 1;
}

static void run(struct record_capture *capture, const struct input *input)
{
	const struct qemu_channel_config config = {
		.slot_count = 2,
		.psb_period = 4096,
		.cpu_count = input->flags & FLAG_CPUS ? 2 : 0,
		.clock = PTL_CLOCK_MONOTONIC,
		.truth = capture->truth != NULL,
		.pt_ring_size = RING,
		.message_ring_size = RING,
		.truth_ring_size = capture->truth ? RING : 0,
	};
	struct record_qemu qemu;
	bool work = false;

	if (record_qemu_open(&qemu, capture, &config) < 0)
		abort();
	qemu.notes = 1000; /* quiet */
	fill(&qemu, input);
	if (record_qemu_drain(&qemu, &work) < 0 || record_capture_advance(capture, 0) < 0 ||
	    record_qemu_reap_all(&qemu) < 0 || record_qemu_cpus_finish(&qemu.cpus) < 0 ||
	    record_qemu_count_losses(&qemu) < 0) {
		fprintf(stderr, "fuzz_channel: %s\n", ptl_error_text());
		abort();
	}
	record_qemu_close(&qemu);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct input input = split(data, size);
	char *const words[] = {(char *)"fuzz", NULL};
	const struct record_settings settings = {
		.level = 1,
		.embed = ELF_EMBED_SYMBOLS,
		.clock = PTL_CLOCK_MONOTONIC,
		.truth = input.flags & FLAG_TRUTH ? "/dev/null" : NULL,
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
