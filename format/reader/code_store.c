/* SPDX-License-Identifier: BSD-2-Clause */
/* Blobs outside the file: in a folder, which may be filled from a server. */
#include "format/reader/code_store.h"

#include <stdlib.h>
#include <string.h>

#include "common/content/content_remote.h"
#include "common/content/http.h"
#include "common/error.h"
#include "format/reader/reader_internal.h"

int ptl_code_store(struct ptl_trace *trace, const char *folder)
{
	struct common_content_remote *remote = NULL;
	char *copy = NULL;

	if (folder && common_http_is_url(folder)) {
		const int status = common_content_remote_open(folder, &remote);

		if (status)
			return status;
		folder = common_content_remote_folder(remote);
	}
	copy = folder ? strdup(folder) : NULL;
	if (folder && !copy) {
		common_content_remote_close(remote);
		return common_fail_memory("the name of a code store", 0);
	}
	common_content_remote_close(trace->remote_store);
	free(trace->code_store);
	trace->remote_store = remote;
	trace->code_store = copy;
	return 0;
}

uint64_t format_code_store_failures(const struct ptl_trace *trace, const char **why)
{
	return trace->remote_store ? common_content_remote_failures(trace->remote_store, why) : 0;
}

/* Downloads a blob into the folder. A failure shows as a missing blob in the folder. */
static void fetch(const struct ptl_trace *trace, const uint8_t *hash, uint64_t limit)
{
	if (trace->remote_store)
		(void)common_content_remote_fetch(trace->remote_store, hash, limit);
}

bool ptl_code_store_has(const struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE], uint64_t *size)
{
	fetch(trace, hash, COMMON_CONTENT_REMOTE_MAX);
	return trace->code_store && common_content_has(trace->code_store, hash, size);
}

int format_code_store_read(const struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE], size_t limit,
			   uint8_t **data, size_t *size)
{
	uint64_t there;
	uint8_t *out;
	int status;

	fetch(trace, hash, limit);
	if (!common_content_has(trace->code_store, hash, &there))
		return PTL_NOT_FOUND;
	if (there > limit)
		return common_fail(PTL_NO_MEMORY, "a blob of the code store has %llu bytes, more than %zu",
				   (unsigned long long)there, limit);
	out = malloc(there + 1);
	if (!out)
		return common_fail_memory("a blob", there);
	status = common_content_read(trace->code_store, hash, out, there, size);
	if (status)
		free(out);
	else
		*data = out;
	return status;
}

int format_code_store_read_into(const struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE], uint8_t *out,
				size_t room, size_t *size)
{
	fetch(trace, hash, room);
	return common_content_read(trace->code_store, hash, out, room, size);
}
