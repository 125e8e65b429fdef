/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A custom relogger with libptl. Rewrites a trace with these changes:
 *	- events of threads are dropped;
 *	- every start of a process is followed by an event of our own provider, with a schema;
 *	- everything else (events, Intel PT, code, symbols, losses, history) is unchanged.
 *
 *	cc -o relogger relogger.c $(pkg-config --cflags --libs ptl)
 *	./relogger in.ptl out.ptl
 */
#include <stdio.h>
#include <string.h>

#include <ptl/kernel.h>
#include <ptl/relogger.h>

/* {5d1b9c37-2f0a-4b8e-9d55-0c6e7b1f3a42} */
static const struct ptl_guid EXAMPLE = PTL_GUID(0x5d1b9c37, 0x2f0a, 0x4b8e, 0x9d55, 0x0c6e7b1f3a42);

struct example {
	unsigned dropped, starts;
};

static int is_of(const struct ptl_event *event, const struct ptl_guid *provider)
{
	return memcmp(&event->descriptor.provider, provider, sizeof(*provider)) == 0;
}

/* OnBeginProcessTrace: writes the schema of the events to be added. */
static int on_begin(void *context, struct ptl_relogger *relogger)
{
	static const struct ptl_field fields[] = {{.name = "Number", .type = PTL_TYPE_U32}};
	const struct ptl_schema schema = {
		.provider = EXAMPLE,
		.id = 1,
		.provider_name = "Example",
		.event_name = "ProcessSeen",
		.task_name = "",
		.opcode_name = "",
		.message = "",
		.fields = fields,
		.field_count = 1,
	};

	(void)context;
	return ptl_relogger_schema(relogger, &schema);
}

/* CreateEventInstance, setters, Inject. The time is the time of the callback's event. */
static int add_seen(struct ptl_relogger *relogger, const struct ptl_trace_event *start, unsigned number)
{
	const struct ptl_descriptor descriptor = {.provider = EXAMPLE, .id = 1, .level = 4};
	const unsigned char payload[4] = {(unsigned char)number, (unsigned char)(number >> 8)};
	struct ptl_trace_event *event;
	int status = ptl_event_new(relogger, ptl_event_input(start), &event);

	if (status)
		return status;
	ptl_event_set_descriptor(event, &descriptor);
	ptl_event_set_pid(event, ptl_event_record(start)->pid);
	ptl_event_set_tid(event, ptl_event_record(start)->tid);
	status = ptl_event_set_payload(event, payload, sizeof(payload));
	if (!status)
		status = ptl_relogger_inject(relogger, event);
	ptl_event_free(event);
	return status;
}

/* OnEvent: without a call of ptl_relogger_inject the event is dropped. */
static int on_event(void *context, struct ptl_relogger *relogger, struct ptl_trace_event *event)
{
	struct example *example = context;
	const struct ptl_event *record = ptl_event_record(event);
	int status;

	if (is_of(record, &PTL_PROVIDER_THREAD)) {
		example->dropped++;
		return 0;
	}
	status = ptl_relogger_inject(relogger, event);
	if (!status && is_of(record, &PTL_PROVIDER_PROCESS) && record->descriptor.opcode == PTL_OPCODE_START)
		status = add_seen(relogger, event, ++example->starts);
	return status;
}

/* OnFinalizeProcessTrace. */
static int on_end(void *context, struct ptl_relogger *relogger)
{
	const struct example *example = context;

	(void)relogger;
	printf("%u events of threads dropped, %u starts of processes marked\n", example->dropped, example->starts);
	return 0;
}

int main(int argc, char **argv)
{
	const struct ptl_relogger_callbacks callbacks = {
		.size = sizeof(callbacks), .begin = on_begin, .event = on_event, .end = on_end};
	const struct ptl_provenance step = {.tool = "example", .version = "1", .command = "relogger", .rules = ""};
	struct ptl_relogger *relogger = NULL;
	struct example example = {0};
	int status;

	if (argc != 3) {
		fprintf(stderr, "usage: relogger IN.ptl OUT.ptl\n");
		return 2;
	}
	status = ptl_relogger_new(NULL, &relogger);
	if (!status)
		status = ptl_relogger_add_file(relogger, argv[1], NULL, NULL);
	if (!status)
		status = ptl_relogger_output(relogger, argv[2], false);
	if (!status)
		status = ptl_relogger_callbacks(relogger, &callbacks, &example);
	if (!status)
		status = ptl_relogger_provenance(relogger, &step);
	if (!status)
		status = ptl_relogger_process(relogger);
	if (status)
		fprintf(stderr, "relogger: %s\n", ptl_error_text());
	ptl_relogger_free(relogger);
	return status ? 1 : 0;
}
