/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests draining slots into a trace: this program plays the traced threads, and reads the result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <ptl/reader.h>

#include "record/capture/machine.h"
#include "record/channel/source.h"

#define RING 65536u

struct fixture {
	struct record_settings settings;
	struct record_capture capture;
	struct record_channel channel;
	char folder[64];
	char path[96];
	uint64_t sequence;
};

static char *const words[] = {(char *)"test", NULL};

static int set_up(void **state)
{
	const struct channel_config config = {.slot_count = 4,
					      .psb_period = 4096,
					      .clock = PTL_CLOCK_MONOTONIC,
					      .pt_ring_size = RING,
					      .message_ring_size = RING};
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct ptl_machine machine;

	*state = fixture;
	fixture->settings = (struct record_settings){.level = 1,
						     .embed = ELF_EMBED_SYMBOLS,
						     .clock = PTL_CLOCK_MONOTONIC,
						     .command_line = words,
						     .command = words};
	strcpy(fixture->folder, "/tmp/ptl-drain-XXXXXX");
	if (!mkdtemp(fixture->folder))
		return -1;
	snprintf(fixture->path, sizeof(fixture->path), "%s/a.ptl", fixture->folder);
	record_machine_describe(&fixture->settings, &machine);
	if (record_capture_open(&fixture->capture, &fixture->settings, fixture->path, &machine) < 0)
		return -1;
	return record_channel_open(&fixture->channel, &fixture->capture, &config);
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	unlink(fixture->path);
	rmdir(fixture->folder);
	free(fixture);
	return 0;
}

/* ---- a traced thread ------------------------------------------------------------------------- */

static struct channel_slot *claim(struct fixture *fixture, uint32_t index, uint32_t process, uint32_t pid)
{
	struct channel_slot *slot = channel_slot(&fixture->channel.channel, index);

	*slot = (struct channel_slot){.pid = pid, .tid = pid, .process = process, .status = CHANNEL_SLOT_LIVE};
	if (fixture->channel.channel.header->slot_high <= index)
		fixture->channel.channel.header->slot_high = index + 1;
	return slot;
}

static void put_message(struct fixture *fixture, struct channel_slot *slot, void *message, size_t size, unsigned type,
			uint64_t time, uint64_t pt_offset)
{
	struct channel_message *header = message;

	*header = (struct channel_message){.size = (uint32_t)size,
					   .type = (uint16_t)type,
					   .time = time,
					   .sequence = ++fixture->sequence,
					   .pt_offset = pt_offset,
					   .request = header->request};
	memcpy((uint8_t *)slot + channel_slot_message_ring() + slot->message_head % RING, message, size);
	slot->message_head += (size + 7) / 8 * 8;
}

static void put_start(struct fixture *fixture, struct channel_slot *slot)
{
	struct channel_message_process_start start = {.how = CHANNEL_PROCESS_INITIAL};
	struct channel_message_thread_start thread = {0};

	put_message(fixture, slot, &start, sizeof(start), CHANNEL_MSG_PROCESS_START, 100, 0);
	/* Without strings, the process starts without name and command line. */
	put_message(fixture, slot, &thread, sizeof(thread), CHANNEL_MSG_THREAD_START, 100, 0);
}

static void put_psb(struct fixture *fixture, struct channel_slot *slot, uint64_t offset, uint64_t time)
{
	struct channel_message_psb psb = {.epoch = 1};

	put_message(fixture, slot, &psb, sizeof(psb), CHANNEL_MSG_PSB, time, offset);
}

/* Appends `size` bytes, each the low byte of its position. */
static void put_pt(struct fixture *fixture, struct channel_slot *slot, size_t size)
{
	uint8_t *ring = (uint8_t *)slot + channel_slot_pt_ring(&fixture->channel.channel.config);

	for (size_t i = 0; i < size; i++, slot->pt_head++)
		ring[slot->pt_head % RING] = (uint8_t)slot->pt_head;
	slot->pt_lap = slot->pt_head / RING * RING;
}

static void drain(struct fixture *fixture)
{
	bool work = false;

	assert_int_equal(record_channel_drain(&fixture->channel, &work), 0);
	assert_int_equal(record_capture_advance(&fixture->capture, record_now()), 0);
}

/* ---- the trace ------------------------------------------------------------------------------- */

static struct ptl_trace *finish(struct fixture *fixture)
{
	struct ptl_trace *trace;

	assert_int_equal(record_channel_reap_all(&fixture->channel), 0);
	assert_int_equal(record_capture_close(&fixture->capture, 1000), 0);
	record_channel_close(&fixture->channel);
	assert_int_equal(ptl_open(fixture->path, NULL, &trace), 0);
	assert_int_equal(ptl_damage_count(trace), 0);
	return trace;
}

/* The n-th PT stream. */
static const struct ptl_stream *pt_stream(const struct ptl_trace *trace, unsigned n)
{
	for (size_t i = 0; i < ptl_stream_count(trace); i++)
		if (ptl_stream_at(trace, i)->kind == PTL_KIND_PT && !n--)
			return ptl_stream_at(trace, i);
	fail_msg("a PT stream is missing");
	return NULL;
}

static void expect_pt(struct ptl_trace *trace, const struct ptl_stream *stream, uint64_t size)
{
	uint8_t *bytes = malloc(size + 1);
	uint64_t hole;
	size_t read, at = 0;

	assert_non_null(bytes);
	do {
		assert_int_equal(ptl_stream_read(trace, stream->id, at, bytes + at, size + 1 - at, &read, &hole), 0);
		at += read;
	} while (read && at <= size);
	assert_int_equal(at, size);
	for (size_t i = 0; i < size; i++)
		assert_int_equal(bytes[i], (uint8_t)i);
	free(bytes);
}

static void takes_bytes_through_many_laps(void **state)
{
	struct fixture *fixture = *state;
	struct channel_slot *slot = claim(fixture, 0, 1, (uint32_t)getpid());
	const struct ptl_psb *psbs;
	struct ptl_trace *trace;
	uint64_t total = 0;
	size_t count;

	put_start(fixture, slot);
	for (int i = 0; i < 40; i++) {
		put_psb(fixture, slot, slot->pt_head, 200 + (uint64_t)i);
		put_pt(fixture, slot, 7777);
		total += 7777;
		drain(fixture);
		assert_int_equal(slot->pt_tail, total);
		assert_int_equal(slot->message_tail, slot->message_head);
	}
	/* The PSB was announced, but the thread was killed before writing the bytes. */
	put_psb(fixture, slot, slot->pt_head, 300);
	slot->status = CHANNEL_SLOT_ENDED;
	drain(fixture);
	assert_int_equal(slot->status, CHANNEL_SLOT_FREE);
	trace = finish(fixture);
	expect_pt(trace, pt_stream(trace, 0), total);
	assert_int_equal(ptl_psb_index(trace, pt_stream(trace, 0)->id, &psbs, &count), 0);
	assert_int_equal(count, 40);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(psbs[i].offset, i * 7777);
		assert_int_equal(psbs[i].time, 200 + i);
	}
	assert_int_equal(ptl_loss_count(trace), 0);
	ptl_close(trace);
}

static void completes_the_stream_of_a_dead_process(void **state)
{
	struct fixture *fixture = *state;
	const pid_t pid = fork();
	struct ptl_trace *trace;
	struct channel_slot *slot;

	if (pid == 0)
		_exit(3);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	slot = claim(fixture, 0, 1, (uint32_t)pid);
	put_start(fixture, slot);
	put_pt(fixture, slot, RING - 100);
	drain(fixture);
	/* The thread was killed before copying the bytes behind the ring's end. */
	put_pt(fixture, slot, 100);
	slot->pt_lap = 0;
	for (int i = 0; i < 50; i++, slot->pt_head++)
		((uint8_t *)slot +
		 channel_slot_pt_ring(&fixture->channel.channel.config))[slot->pt_head] = (uint8_t)slot->pt_head;
	drain(fixture);
	assert_int_equal(slot->status, CHANNEL_SLOT_LIVE);
	assert_int_equal(record_channel_reap(&fixture->channel), 0);
	assert_int_equal(slot->status, CHANNEL_SLOT_FREE);
	trace = finish(fixture);
	expect_pt(trace, pt_stream(trace, 0), RING + 50);
	assert_int_equal(ptl_loss_count(trace), 0);
	ptl_close(trace);
}

/* A damaged slot loses its own thread only. */
static void gives_a_damaged_slot_up(void **state)
{
	struct fixture *fixture = *state;
	struct channel_slot *bad = claim(fixture, 0, 1, (uint32_t)getpid());
	struct channel_slot *good = claim(fixture, 1, 1, (uint32_t)getpid());
	struct ptl_trace *trace;

	good->tid = 5;
	put_start(fixture, bad);
	put_pt(fixture, bad, 1000);
	put_pt(fixture, good, 1000);
	drain(fixture);
	bad->pt_tail = 17;
	put_pt(fixture, good, 500);
	drain(fixture);
	bad->pt_head = UINT64_MAX;
	bad->message_head += 8;
	drain(fixture);
	bad->status = good->status = CHANNEL_SLOT_ENDED;
	drain(fixture);
	assert_int_equal(bad->status, CHANNEL_SLOT_FREE);
	assert_int_equal(good->status, CHANNEL_SLOT_FREE);
	trace = finish(fixture);
	expect_pt(trace, pt_stream(trace, 0), 1000);
	expect_pt(trace, pt_stream(trace, 1), 1500);
	assert_int_equal(ptl_loss_count(trace), 1);
	assert_int_equal(ptl_loss_at(trace, 0)->kind, PTL_LOSS_THREAD);
	assert_int_equal(ptl_loss_at(trace, 0)->stream, pt_stream(trace, 0)->id);
	ptl_close(trace);
}

static void drops_messages_that_make_no_sense(void **state)
{
	struct fixture *fixture = *state;
	struct channel_slot *slot = claim(fixture, 0, 1, (uint32_t)getpid());
	struct ptl_trace *trace;

	put_start(fixture, slot);
	memset((uint8_t *)slot + channel_slot_message_ring() + slot->message_head, 0xff, 64);
	slot->message_head += 64;
	put_pt(fixture, slot, 10);
	drain(fixture);
	assert_int_equal(slot->message_tail, slot->message_head);
	slot->status = CHANNEL_SLOT_ENDED;
	drain(fixture);
	trace = finish(fixture);
	expect_pt(trace, pt_stream(trace, 0), 10);
	assert_int_equal(ptl_loss_count(trace), 1);
	assert_int_equal(ptl_loss_at(trace, 0)->kind, PTL_LOSS_EVENTS);
	ptl_close(trace);
}

static void uses_a_slot_again(void **state)
{
	struct fixture *fixture = *state;
	struct ptl_trace *trace;

	for (uint32_t i = 0; i < 3; i++) {
		struct channel_slot *slot = claim(fixture, 0, 1 + i, (uint32_t)getpid());

		put_start(fixture, slot);
		put_pt(fixture, slot, 100 * (i + 1));
		slot->status = CHANNEL_SLOT_ENDED;
		drain(fixture);
		assert_int_equal(slot->status, CHANNEL_SLOT_FREE);
	}
	trace = finish(fixture);
	for (unsigned i = 0; i < 3; i++)
		expect_pt(trace, pt_stream(trace, i), 100 * (i + 1));
	ptl_close(trace);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(takes_bytes_through_many_laps),
		TEST(completes_the_stream_of_a_dead_process),
		TEST(gives_a_damaged_slot_up),
		TEST(drops_messages_that_make_no_sense),
		TEST(uses_a_slot_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
