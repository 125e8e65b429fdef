/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * session_events SESSION: writes a line for each event of a named session, as it comes: provider, id, opcode, time, pid, tid and
 * payload; at the end a line "missed N".
 */
#include <inttypes.h>
#include <stdio.h>

#include <ptl/reader.h>

static int write_event(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	(void)context;
	(void)trace;
	for (size_t i = 0; i < sizeof(event->descriptor.provider.bytes); i++)
		printf("%02x", event->descriptor.provider.bytes[i]);
	printf(" %u %u %" PRIu64 " %" PRIu32 " %" PRIu32 " ", event->descriptor.id, event->descriptor.opcode,
	       event->time, event->pid, event->tid);
	for (size_t i = 0; i < event->payload_size; i++)
		printf("%02x", event->payload[i]);
	printf("\n");
	return 0;
}

int main(int argc, char **argv)
{
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = write_event};
	uint64_t missed;
	int status;

	if (argc != 2) {
		fprintf(stderr, "usage: session_events SESSION\n");
		return 2;
	}
	status = ptl_process_session(argv[1], NULL, NULL, &callbacks, NULL, &missed);
	if (status < 0)
		fprintf(stderr, "session_events: %s\n", ptl_error_text());
	printf("missed %" PRIu64 "\n", missed);
	return status < 0;
}
