/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzzes the program's reader of session files: validity, and requested events. The first byte is the slot. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "provider/session_rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct ptl_guid guid = {{1, 2, 3}}, group = {{4, 5, 6}};
	const struct provider_shm_identity identity = {"Test-Provider", &guid, &group};
	struct provider_shm_session_file *file;
	struct ptl_enabled *enabled;
	uint64_t keywords = 0;
	uint8_t level = 0;

	if (size < 1 || size - 1 > sizeof(*file))
		return 0;
	/* Memory of the exact size shows reads beyond the end. */
	file = malloc(size - 1 ? size - 1 : 1);
	enabled = calloc(1, sizeof(*enabled));
	if (!file || !enabled)
		abort();
	memcpy(file, data + 1, size - 1);
	if (provider_shm_session_valid(file, size - 1, data[0]) &&
	    provider_shm_session_wants(file, &identity, &level, &keywords) && data[0] < PTL_SESSIONS_MAX) {
		provider_shm_turn_on(enabled, data[0], file->session.id, level, keywords);
		if (provider_shm_turn_on(enabled, data[0], file->session.id, level, keywords) ||
		    !provider_shm_turn_off(enabled, data[0], file->session.id))
			abort();
	}
	free(enabled);
	free(file);
	return 0;
}
