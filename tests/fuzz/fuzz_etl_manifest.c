/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzzes the reader of instrumentation manifests. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <ptl/writer.h>

#include "import/etl/schema/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct ptl_writer_options writing = {.size = sizeof(writing), .level = 1};
	struct etl_known known = {0};
	struct ptl_writer *writer;

	if (ptl_writer_open(memfd_create("ptl", MFD_CLOEXEC), &writing, &writer) ||
	    etl_manifest_read(&known, writer, (const char *)data, size))
		abort();
	for (size_t i = 0; i < known.count; i++)
		if (ptl_writer_schema(writer, &known.list[i]->ptl))
			abort();
	etl_known_free(&known);
	if (ptl_writer_close(writer))
		abort();
	return 0;
}
