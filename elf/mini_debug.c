/* SPDX-License-Identifier: BSD-2-Clause */
/* Unpacks MiniDebugInfo with liblzma, with limits on size and memory. */
#include "elf/mini_debug.h"

#include <lzma.h>
#include <stdlib.h>

#include "common/error.h"
#include "elf/state.h"

#define UNPACK_MEMORY ((uint64_t)128 << 20) /* limit for liblzma, in bytes; xz -9 needs 65 MiB */
#define FIRST_SIZE ((size_t)256 << 10)

static int unpack_failure(lzma_ret result)
{
	if (result == LZMA_MEM_ERROR)
		return common_fail_memory(".gnu_debugdata", UNPACK_MEMORY);
	if (result == LZMA_MEMLIMIT_ERROR)
		return common_fail(PTL_UNSUPPORTED, ".gnu_debugdata: unpacking takes more than %llu MiB",
				   (unsigned long long)(UNPACK_MEMORY >> 20));
	return common_fail(PTL_CORRUPT, ".gnu_debugdata: not what xz writes (error %d of liblzma)", (int)result);
}

/* Grows *data, up to ELF_MINI_MAX. */
static int grow_output(lzma_stream *stream, uint8_t **data, size_t *size)
{
	const size_t used = *size, larger = used ? 2 * used : FIRST_SIZE;
	uint8_t *grown;

	if (used == ELF_MINI_MAX)
		return common_fail(PTL_UNSUPPORTED, ".gnu_debugdata: it is larger than %zu MiB", ELF_MINI_MAX >> 20);
	grown = realloc(*data, larger);
	if (!grown)
		return common_fail_memory(".gnu_debugdata", larger);
	*data = grown;
	*size = larger;
	stream->next_out = grown + used;
	stream->avail_out = larger - used;
	return 0;
}

static int unpack(const uint8_t *packed, size_t packed_size, uint8_t **data, size_t *size)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_ret result = lzma_stream_decoder(&stream, UNPACK_MEMORY, LZMA_CONCATENATED);
	size_t room = 0;
	int status = 0;

	stream.next_in = packed;
	stream.avail_in = packed_size;
	while (!status && result == LZMA_OK) {
		if (!stream.avail_out)
			status = grow_output(&stream, data, &room);
		if (!status)
			result = lzma_code(&stream, LZMA_FINISH);
	}
	if (!status && result != LZMA_STREAM_END)
		status = unpack_failure(result);
	*size = room - stream.avail_out;
	lzma_end(&stream);
	return status;
}

int elf_mini_open(const struct elf_file *elf, struct elf_file **mini, uint8_t **data)
{
	uint8_t *packed;
	GElf_Shdr header;
	size_t size = 0;
	int status;

	*mini = NULL;
	*data = NULL;
	if (!elf_section(elf, SHT_PROGBITS, ".gnu_debugdata", &header) || !header.sh_size)
		return 0;
	if (header.sh_size > ELF_MINI_MAX)
		return common_fail(PTL_UNSUPPORTED, ".gnu_debugdata: it is larger than %zu MiB", ELF_MINI_MAX >> 20);
	packed = malloc((size_t)header.sh_size);
	if (!packed)
		return common_fail_memory(".gnu_debugdata", (size_t)header.sh_size);
	status = elf_read(elf, header.sh_offset, packed, (size_t)header.sh_size);
	if (!status)
		status = unpack(packed, (size_t)header.sh_size, data, &size);
	free(packed);
	if (!status)
		status = elf_open_memory(*data, size, mini);
	if (!status)
		return 0;
	free(*data);
	*data = NULL;
	return common_fail_in(status == PTL_NOT_OURS ? PTL_CORRUPT : status, "MiniDebugInfo");
}
