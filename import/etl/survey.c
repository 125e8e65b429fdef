/* SPDX-License-Identifier: BSD-2-Clause */
/* Collects descriptions of events from the whole file. */
#include <stdio.h>

#include "common/error.h"
#include "common/text/guid.h"
#include "common/text/utf16.h"
#include "format/event/kernel.h"
#include "import/etl/file/layout.h"
#include "import/etl/import.h"

static const struct ptl_guid metadata = PTL_GUID(0xbbccf6c1, 0x6cd1, 0x48c4, 0x80ff, 0x839482e37671);

static const struct ptl_guid system_config = PTL_GUID(0x9b79ee91, 0xb5fd, 0x41c0, 0xa243, 0x4248e266e9d0);
static const struct ptl_guid image_id = PTL_GUID(0xb3e675d7, 0x2554, 0x4f18, 0x830b, 0x2762732560de);
static const struct ptl_guid process = FORMAT_PROCESS_GUID;
static const struct ptl_guid file_io = PTL_GUID(0x90cbdc39, 0x4a3e, 0x11d1, 0x84f4, 0x0000f80464e3);
static const struct ptl_guid hardware = PTL_GUID(0x01853a65, 0x418f, 0x4f36, 0xaefc, 0xdc0f1d2fd235);

#define COMPUTER_NAME_AT 20u
#define COMPUTER_NAME_UNITS 256u

static int take_event_info(struct etl_import *import, const struct etl_record *record)
{
	return etl_event_info(&import->known, record->payload, record->payload_size);
}

static int take_map_info(struct etl_import *import, const struct etl_record *record)
{
	return etl_map_info(&import->known, import->writer, record->payload, record->payload_size);
}

static int take_volume(struct etl_import *import, const struct etl_record *record)
{
	return etl_paths_add(&import->paths, record->payload, record->payload_size);
}

static int take_image_id(struct etl_import *import, const struct etl_record *record)
{
	return etl_image_ids_add(&import->image_ids, record);
}

static int take_process(struct etl_import *import, const struct etl_record *record)
{
	return etl_methods_process(&import->methods, record);
}

static int take_file_name(struct etl_import *import, const struct etl_record *record)
{
	return etl_file_names_add(&import->file_names, record);
}

/* Takes the computer's name. */
static int take_cpu(struct etl_import *import, const struct etl_record *record)
{
	struct ptl_bytes name = {0};
	size_t units = 0;

	if (record->payload_size < COMPUTER_NAME_AT + 2 * COMPUTER_NAME_UNITS)
		return 0;
	while (units < COMPUTER_NAME_UNITS && common_load16(record->payload + COMPUTER_NAME_AT + 2 * units))
		units++;
	common_read_utf16_units(record->payload + COMPUTER_NAME_AT, units, &name);
	if (!name.failed && name.size)
		snprintf(import->machine.hostname, sizeof(import->machine.hostname), "%.*s", (int)name.size,
			 (const char *)name.data);
	common_bytes_free(&name);
	return 0;
}

static const struct {
	const struct ptl_guid *class;
	uint8_t opcode;
	int (*take)(struct etl_import *import, const struct etl_record *record);
} wanted[] = {
	{&metadata, 32, take_event_info}, {&metadata, 33, take_map_info}, {&system_config, 35, take_volume},
	{&image_id, 36, take_image_id},   {&image_id, 37, take_image_id}, {&hardware, 10, take_cpu},
	{&process, 1, take_process},      {&file_io, 0, take_file_name},  {&file_io, 32, take_file_name},
	{&file_io, 35, take_file_name},   {&file_io, 36, take_file_name}, {&file_io, 64, take_file_name},
	{&file_io, 66, take_file_name},
};

static int survey_record(struct etl_import *import, const struct etl_record *record)
{
	int status = 0;

	if (etl_is_stack(record)) {
		import->stacks.any = true;
		return record->kind == ETL_KIND_SYSTEM ? etl_stack_keys_add(&import->stack_keys, record) : 0;
	}
	if (record->kind == ETL_KIND_EVENT && record->descriptor.id == ETL_MANIFEST_EVENT)
		return etl_pieces_take(&import->pieces, &import->known, import->writer, record);
	if (record->kind == ETL_KIND_EVENT)
		return etl_methods_add(&import->methods, record);
	if (record->kind != ETL_KIND_CLASSIC && record->kind != ETL_KIND_SYSTEM)
		return 0;
	status = etl_threads_survey(&import->threads, record);
	if (status)
		return status;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (wanted[i].opcode == record->descriptor.opcode &&
		    common_guid_equal(&record->descriptor.provider, wanted[i].class))
			return wanted[i].take(import, record);
	return 0;
}

/*
 * Whether the survey needs the record. Most events of a large file are switches, samples, and events of providers,
 * which are skipped.
 */
static bool is_wanted_record(const struct etl_raw *raw)
{
	const unsigned hook = etl_raw_is_system(raw) ? etl_raw_hook(raw) : 0;

	switch (raw->header) {
	case ETL_MESSAGE:
		return false;
	case ETL_EVENT32:
	case ETL_EVENT64:
		return etl_raw_is_stack(raw) || common_load16(raw->event + ETL_EVENT_ID_AT) == ETL_MANIFEST_EVENT ||
		       etl_is_method(common_load16(raw->event + ETL_EVENT_ID_AT));
	default:
		return hook >> 8 != ETL_GROUP_PERFINFO && (hook >> 8 != ETL_GROUP_THREAD || (hook & 0xff) < 5);
	}
}

static int look_at_buffer(struct etl_import *import, const struct etl_buffer *buffer)
{
	struct etl_record record;
	struct etl_raw raw;
	size_t at = ETL_BUFFER_HEADER;
	int status = 0;

	while (!status && etl_record_find(buffer, &at, &raw) > 0) {
		if (is_wanted_record(&raw)) {
			if (etl_record_read(&raw, &record))
				break;
			status = survey_record(import, &record);
		}
	}
	return status;
}

int etl_survey(struct etl_import *import)
{
	struct etl_buffer buffer;
	int status;

	while ((status = etl_file_next(import->file, &buffer)) != 0) {
		if (status == PTL_SYSTEM || status == PTL_NO_MEMORY)
			return status;
		status = status > 0 ? look_at_buffer(import, &buffer) : 0;
		if (!status && import->options->check)
			status = import->options->check();
		if (status)
			return status;
	}
	etl_file_names_sort(&import->file_names);
	etl_file_rewind(import->file);
	return 0;
}
