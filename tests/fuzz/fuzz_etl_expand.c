/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzzes the three decompressions of .etl files: the first byte chooses, the next two are the room. */
#include <stdint.h>
#include <stdlib.h>

#include "common/bytes.h"
#include "import/etl/file/expand.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t made = 0, room;
	uint8_t *to;

	if (size < 3)
		return 0;
	room = common_load16(data + 1);
	to = malloc(room + 1);
	if (!to)
		abort();
	etl_expand(data[0] % 6, data + 3, size - 3, to, room, &made);
	if (made > room)
		abort();
	free(to);
	return 0;
}
