/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the events that result from the runtime's messages about processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/bytes.h"
#include "record/channel/facts.h"

#define PID 100

struct fixture {
	struct record_channel_facts facts;
	struct ptl_bytes text;
};

static void say(struct fixture *fixture, const char *line)
{
	common_write_bytes(&fixture->text, line, strlen(line));
}

static int on_event(void *context, uint32_t stream_pair, enum record_part part, const struct ptl_event *event)
{
	struct ptl_bytes storage = {0};
	struct ptl_process_event process;
	struct ptl_thread_event thread;
	struct ptl_image_event image;
	char line[512];

	(void)stream_pair;
	(void)part;
	if (ptl_process_decode(event, &storage, &process) == 0)
		snprintf(line, sizeof(line), "process %u '%s' '%s'\n", event->descriptor.opcode,
			 process.image_file_name, process.command_line);
	else if (ptl_thread_decode(event, &storage, &thread) == 0)
		snprintf(line, sizeof(line), "thread %u %u '%s'\n", event->descriptor.opcode, thread.thread_id,
			 thread.name);
	else if (ptl_image_decode(event, &storage, &image) == 0)
		snprintf(line, sizeof(line), "image %u %llx+%llx\n", event->descriptor.opcode,
			 (unsigned long long)image.base, (unsigned long long)image.size);
	else
		snprintf(line, sizeof(line), "code\n");
	say(context, line);
	common_bytes_free(&storage);
	return 0;
}

static int on_code(void *context, const uint8_t *data, size_t size, uint8_t hash[PTL_HASH_SIZE])
{
	(void)context;
	(void)size;
	memset(hash, data[0], PTL_HASH_SIZE);
	return 0;
}

static int on_loss(void *context, const struct ptl_loss *loss)
{
	say(context, loss->cause);
	say(context, "\n");
	return 0;
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	const struct record_sink sink = {fixture, on_event, on_code, on_loss};

	*state = fixture;
	return record_model_new(&sink, &fixture->facts.model);
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	record_channel_facts_free(&fixture->facts);
	record_model_free(fixture->facts.model);
	common_bytes_free(&fixture->text);
	free(fixture);
	return 0;
}

static void expect(struct fixture *fixture, const char *text)
{
	common_write_bytes(&fixture->text, "", 1);
	assert_string_equal((const char *)fixture->text.data, text);
	fixture->text.size = 0;
}

/* Sends a message with this structure (the header is filled in) and this payload. */
static void send(struct fixture *fixture, unsigned type, const void *fixed, size_t fixed_size, const char *payload,
		 size_t payload_size)
{
	_Alignas(8) uint8_t buffer[512];
	struct channel_message *message = (void *)buffer;

	assert_true(fixed_size + payload_size <= sizeof(buffer));
	memcpy(buffer, fixed, fixed_size);
	if (payload_size)
		memcpy(buffer + fixed_size, payload, payload_size);
	*message = (struct channel_message){.size = (uint32_t)(fixed_size + payload_size),
					    .type = (uint16_t)type,
					    .pid = PID,
					    .tid = PID,
					    .process = 1,
					    .time = 10};
	assert_int_equal(record_channel_fact(&fixture->facts, message, NULL, 0), 0);
}

static void send_start(struct fixture *fixture, const char *strings, size_t size, size_t sent)
{
	const struct channel_message_process_start start = {.how = CHANNEL_PROCESS_INITIAL, .parent_pid = 7};
	const struct channel_message_exec exec = {.total = (uint32_t)size};

	send(fixture, CHANNEL_MSG_PROCESS_START, &start, sizeof(start), NULL, 0);
	send(fixture, CHANNEL_MSG_EXEC, &exec, sizeof(exec), NULL, 0);
	for (size_t at = 0; at < sent; at += 5) {
		const size_t length = sent - at < 5 ? sent - at : 5;
		const struct channel_message_exec_bytes bytes = {.offset = (uint32_t)at, .length = (uint32_t)length};

		send(fixture, CHANNEL_MSG_EXEC_BYTES, &bytes, sizeof(bytes), strings + at, length);
	}
}

#define LS "/bin/ls\0\0/home\0ls\0-l"
#define STARTED "process 1 '/bin/ls' 'ls -l'\nthread 1 100 ''\n"

static void joins_the_pieces_of_a_program(void **state)
{
	struct fixture *fixture = *state;

	send_start(fixture, LS, sizeof(LS), sizeof(LS));
	expect(fixture, STARTED);
}

static void takes_what_has_come_of_a_program(void **state)
{
	const struct channel_message_psb psb = {.epoch = 1};
	const struct channel_message_unmap unmap = {.base = 0x1000, .size = 0x2000};
	struct fixture *fixture = *state;

	send_start(fixture, LS, sizeof(LS), 4);
	/* Packets come at any time. */
	send(fixture, CHANNEL_MSG_PSB, &psb, sizeof(psb), NULL, 0);
	expect(fixture, "");
	send(fixture, CHANNEL_MSG_IMAGE_UNMAP, &unmap, sizeof(unmap), NULL, 0);
	expect(fixture, "process 1 '/bin' ''\nthread 1 100 ''\nimage 2 1000+2000\n");
}

static void takes_what_has_come_when_nothing_more_will(void **state)
{
	struct fixture *fixture = *state;

	send_start(fixture, LS, sizeof(LS), 7);
	assert_int_equal(record_channel_facts_end(&fixture->facts, 2, 0), 0);
	expect(fixture, "");
	assert_int_equal(record_channel_facts_end(&fixture->facts, 1, 0), 0);
	expect(fixture, "process 1 '/bin/ls' ''\nthread 1 100 ''\n");
	assert_int_equal(record_channel_facts_end_all(&fixture->facts, 0), 0);
	expect(fixture, "");
}

static void leaves_out_pieces_that_do_not_fit(void **state)
{
	const struct channel_message_exec_bytes late = {.offset = 7, .length = 4}, large = {.offset = 4, .length = 100};
	struct fixture *fixture = *state;
	char text[100] = "";

	send_start(fixture, LS, sizeof(LS), 4);
	send(fixture, CHANNEL_MSG_EXEC_BYTES, &late, sizeof(late), LS, 4);
	send(fixture, CHANNEL_MSG_EXEC_BYTES, &large, sizeof(large), text, 100);
	assert_int_equal(record_channel_facts_end_all(&fixture->facts, 0), 0);
	expect(fixture, "process 1 '/bin' ''\nthread 1 100 ''\n");
	/* Pieces without a program give no event either. */
	send(fixture, CHANNEL_MSG_EXEC_BYTES, &late, sizeof(late), LS, 4);
	expect(fixture, "");
}

static void cuts_names_of_threads(void **state)
{
	const struct channel_message_thread_name name = {.named_tid = 101, .length = 20};
	struct fixture *fixture = *state;

	send_start(fixture, LS, sizeof(LS), sizeof(LS));
	fixture->text.size = 0;
	send(fixture, CHANNEL_MSG_THREAD_NAME, &name, sizeof(name), "abcdefghijklmnopqrst", 20);
	expect(fixture, "thread 1 101 'abcdefghijklmno'\n");
}

static void knows_why_a_program_is_not_followed(void **state)
{
	const struct channel_message_not_followed known = {.cause = CHANNEL_NOT_FOLLOWED_UNREADABLE, .length = 4};
	const struct channel_message_not_followed unknown = {.cause = 99, .length = 4};
	const struct channel_message failed = {.size = sizeof(failed)};
	struct fixture *fixture = *state;

	send_start(fixture, LS, sizeof(LS), sizeof(LS));
	fixture->text.size = 0;
	send(fixture, CHANNEL_MSG_NOT_FOLLOWED, &known, sizeof(known), "/a\0\0", 4);
	send(fixture, CHANNEL_MSG_EXEC_FAILED, &failed, sizeof(failed), NULL, 0);
	send(fixture, CHANNEL_MSG_NOT_FOLLOWED, &unknown, sizeof(unknown), "/b\0\0", 4);
	assert_int_equal(record_model_gone(fixture->facts.model, 1, 0, true), 0);
	expect(fixture, "process 64 '/b' ''\n/b ran untraced: unknown cause\n");
}

static void passes_over_what_it_does_not_know(void **state)
{
	const struct channel_message other = {.size = sizeof(other)};
	struct fixture *fixture = *state;

	send_start(fixture, LS, sizeof(LS), sizeof(LS));
	fixture->text.size = 0;
	send(fixture, 77, &other, sizeof(other), NULL, 0);
	expect(fixture, "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(joins_the_pieces_of_a_program),
		TEST(takes_what_has_come_of_a_program),
		TEST(takes_what_has_come_when_nothing_more_will),
		TEST(leaves_out_pieces_that_do_not_fit),
		TEST(cuts_names_of_threads),
		TEST(knows_why_a_program_is_not_followed),
		TEST(passes_over_what_it_does_not_know),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
