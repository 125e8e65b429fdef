/* SPDX-License-Identifier: BSD-2-Clause */
/* Encoder and decoder of the recording record. */
#include <string.h>

#include "common/error.h"
#include "format/metadata/fields.h"
#include "format/metadata/metadata.h"

#define TAG_NAME 1
#define NAME_SIZE 16

void format_recording_encode(const uint8_t name[16], struct ptl_bytes *out)
{
	format_field_bytes(out, TAG_NAME, name, NAME_SIZE);
}

int format_recording_decode(struct common_cursor body, uint8_t name[16])
{
	struct format_tagged field;
	bool named = false;
	int status;

	while ((status = format_next_field(&body, &field)) > 0) {
		if (field.tag != TAG_NAME)
			continue;
		if (field.size != NAME_SIZE)
			return common_fail(PTL_CORRUPT, "the name of a recording has %zu bytes", field.size);
		memcpy(name, field.data, NAME_SIZE);
		named = true;
	}
	if (!status && !named)
		status = common_fail(PTL_CORRUPT, "a recording record without a name");
	return status;
}
