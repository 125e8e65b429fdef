/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads code from files. */
#include "flow/code/code_file.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file.h"
#include "common/sha256.h"

bool flow_code_from_file(const struct flow_outside_blob *blob, uint8_t *data, uint64_t *size)
{
	uint8_t hash[PTL_HASH_SIZE];
	struct stat info;
	uint64_t left;
	bool same;
	int fd;

	if (blob->size > FLOW_CODE_FILE_MAX)
		return false;
	fd = common_open_regular(blob->path, &info);
	if (fd < 0)
		return false;
	left = (uint64_t)info.st_size > blob->file_offset ? (uint64_t)info.st_size - blob->file_offset : 0;
	*size = left < blob->size ? left : blob->size;
	same = *size && !common_read_at(fd, data, *size, blob->file_offset);
	if (same) {
		common_sha256_of(data, *size, hash);
		same = !memcmp(hash, blob->hash, PTL_HASH_SIZE);
	}
	close(fd);
	return same;
}
