/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names executed memory of a process with libptl's relogger: a range of addresses becomes a function of an image.
 *
 *	cc -o namer namer.c $(pkg-config --cflags --libs ptl)
 *	./namer IN.ptl OUT.ptl PID BASE SIZE NAME
 *
 * The image is injected directly behind the event that reports its memory. Code events come later and stay visible.
 * An image that is injected later hides code in its range. Such a program folds all events with ptl_state_event, and
 * injects behind the image the code events that ptl_state_rundown gives for the range.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ptl/kernel.h>
#include <ptl/relogger.h>
#include <ptl/symbols.h>

struct namer {
	struct ptl_image_event image;
	const char *name;
	unsigned images;
};

/* OnBeginProcessTrace: stores a symbol table with one function. */
static int on_begin(void *context, struct ptl_relogger *relogger)
{
	struct namer *namer = context;
	const struct ptl_symbol symbol = {
		.address = namer->image.base, .size = namer->image.size, .name = namer->name, .type = 'T'};
	struct ptl_bytes table = {0};
	int status = ptl_symbols_encode(&symbol, 1, &table);

	if (!status)
		status = ptl_relogger_blob(relogger, PTL_BLOB_SYMBOLS, table.data, table.size, namer->image.symbols);
	ptl_bytes_free(&table);
	return status;
}

/* Whether the event reports memory that contains the range. */
static int reports_memory(const struct namer *namer, const struct ptl_event *event)
{
	struct ptl_bytes storage = {0};
	struct ptl_image_event memory;
	const int found = (event->descriptor.opcode == PTL_OPCODE_LOAD ||
			   event->descriptor.opcode == PTL_OPCODE_START_RUNDOWN) &&
			  ptl_image_decode(event, &storage, &memory) == 0 &&
			  memory.process_id == namer->image.process_id && memory.base <= namer->image.base &&
			  namer->image.base - memory.base < memory.size &&
			  namer->image.size <= memory.size - (namer->image.base - memory.base);

	ptl_bytes_free(&storage);
	return found;
}

static int on_event(void *context, struct ptl_relogger *relogger, struct ptl_trace_event *event)
{
	struct namer *namer = context;
	const struct ptl_event *record = ptl_event_record(event);
	struct ptl_event image = {.time = record->time, .cpu = PTL_NO_CPU, .pid = record->pid, .tid = PTL_NO_ID};
	const int names = reports_memory(namer, record);
	struct ptl_bytes storage = {0};
	int status = ptl_relogger_inject(relogger, event);

	if (status || !names)
		return status;
	namer->images++;
	status = ptl_image_encode(&namer->image, PTL_OPCODE_LOAD, &storage, &image);
	if (!status)
		status = ptl_relogger_inject_record(relogger, &image);
	ptl_bytes_free(&storage);
	return status;
}

int main(int argc, char **argv)
{
	const struct ptl_relogger_callbacks callbacks = {
		.size = sizeof(callbacks), .begin = on_begin, .event = on_event};
	const struct ptl_provenance step = {.tool = "example", .version = "1", .command = "namer", .rules = ""};
	struct ptl_relogger *relogger = NULL;
	struct namer namer = {0};
	int status;

	if (argc != 7) {
		fprintf(stderr, "usage: namer IN.ptl OUT.ptl PID BASE SIZE NAME\n");
		return 2;
	}
	namer.image = (struct ptl_image_event){
		.process_id = (uint32_t)strtoul(argv[3], NULL, 0),
		.base = strtoull(argv[4], NULL, 0),
		.size = strtoull(argv[5], NULL, 0),
		.default_base = strtoull(argv[4], NULL, 0),
		.file_name = "[named]",
		.protection = 5, /* r-x */
		.has_symbols = 1,
	};
	namer.name = argv[6];
	status = ptl_relogger_new(NULL, &relogger);
	if (!status)
		status = ptl_relogger_add_file(relogger, argv[1], NULL, NULL);
	if (!status)
		status = ptl_relogger_output(relogger, argv[2], false);
	if (!status)
		status = ptl_relogger_callbacks(relogger, &callbacks, &namer);
	if (!status)
		status = ptl_relogger_provenance(relogger, &step);
	if (!status)
		status = ptl_relogger_process(relogger);
	if (status)
		fprintf(stderr, "namer: %s\n", ptl_error_text());
	else
		printf("%u times named\n", namer.images);
	ptl_relogger_free(relogger);
	return status ? 1 : 0;
}
