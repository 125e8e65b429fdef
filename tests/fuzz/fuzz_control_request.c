/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes requests through a session's socket: the input is one message. The session's only source accepts rules of
 * providers.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/session/session_folder.h"
#include "provider/session_layout.h"
#include "record/capture/machine.h"
#include "record/control/request.h"
#include "record/provider/rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t turned; /* rules of the current request */

static int turn(void *state, const char *text, bool on, FILE *notes)
{
	struct provider_shm_rule rule;
	const int status = record_provider_rule_parse(text, &rule);

	(void)state;
	turned++;
	if (!status)
		fprintf(notes, "%s %s\n", on ? "on" : "off", text);
	return status;
}

/* Returns the number of provider rules in an update request. */
static size_t count_rules(const char *request, size_t size)
{
	size_t count = 0;

	if (!size || request[size - 1] || strcmp(request, "update") != 0)
		return 0;
	for (size_t at = strlen(request) + 1; at < size; at += strlen(request + at) + 1)
		count += request[at] && request[at + 1] == RECORD_CONTROL_PROVIDER;
	return count;
}

/* No readable byte follows the message: the recorder's buffer has no zero there either. */
static void run(struct record_session *session, const uint8_t *data, size_t size)
{
	enum record_control_when when = RECORD_CONTROL_NOW;
	char *request = malloc(size ? size : 1), *text = NULL;
	size_t text_size = 0;
	FILE *answer = open_memstream(&text, &text_size);
	int status;

	if (!request || !answer)
		abort();
	if (size)
		memcpy(request, data, size);
	turned = 0;
	status = record_control_request(session, request, size, answer, &when);
	if (status > 0 || (status < 0 && !*ptl_error_text()) || (status < 0 && when != RECORD_CONTROL_NOW))
		abort();
	/* A successful request has applied all rules. */
	if (!status && turned != count_rules(request, size))
		abort();
	fclose(answer);
	free(text);
	free(request);
}

/* If a rest of the series was requested, the rest is there and fits into a message. */
static void check_rest(struct record_capture *capture)
{
	if (capture->rotation.rest_wanted
		    ? capture->rotation.rest.text.failed || !capture->rotation.rest.descriptor_count ||
			      capture->rotation.rest.text.size >= COMMON_SESSION_MESSAGE_MAX
		    : capture->rotation.rest.text.size || capture->rotation.rest.descriptor_count)
		abort();
	record_series_rest_free(&capture->rotation.rest);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct record_source source = {.name = "fuzz", .turn = turn};
	char *const words[] = {(char *)"fuzz", NULL};
	const struct record_settings settings = {
		.level = 1,
		.session_name = "fuzz",
		.mode = RECORD_MODE_REALTIME,
		.clock = PTL_CLOCK_MONOTONIC,
		.command_line = words,
		.command = words,
	};
	struct record_running running = {.source = &source};
	struct record_session session = {.settings = &settings, .running_count = 1};
	struct ptl_machine machine;

	session.running[0] = running;
	common_message_start("fuzz_control_request", true);
	record_machine_describe(&settings, &machine);
	if (record_capture_open(&session.capture, &settings, "/dev/null", &machine) < 0)
		abort();
	run(&session, data, size);
	/* The capture must still work. */
	run(&session, (const uint8_t *)"query\0json", 11);
	if (record_capture_close(&session.capture, 1) < 0)
		abort();
	check_rest(&session.capture);
	return 0;
}
