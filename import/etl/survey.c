/* SPDX-License-Identifier: BSD-2-Clause */
/* What of a file explains its events. */
#include "common/error.h"
#include "common/guid.h"
#include "import/etl/import.h"
#include "import/etl/layout.h"

static const struct ptl_guid metadata = PTL_GUID(0xbbccf6c1, 0x6cd1, 0x48c4, 0x80ff, 0x839482e37671);

#define OPCODE_EVENT_INFO 32

static int look_at(struct etl_import *import, const struct etl_record *record)
{
	if (record->kind == ETL_KIND_CLASSIC && common_guid_equal(&record->descriptor.provider, &metadata) &&
	    record->descriptor.opcode == OPCODE_EVENT_INFO)
		return etl_event_info(&import->known, record->payload, record->payload_size);
	return 0;
}

static int look_at_buffer(struct etl_import *import, const struct etl_buffer *buffer)
{
	struct etl_record record;
	size_t at = ETL_BUFFER_HEADER;
	int status = 0;

	while (!status && etl_record_next(buffer, &at, &record) > 0)
		status = look_at(import, &record);
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
	etl_file_rewind(import->file);
	return 0;
}
