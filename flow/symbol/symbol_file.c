/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads symbol tables of files. */
#include "flow/symbol/symbol_file.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/file.h"
#include "elf/file.h"

static struct ptl_symbol_table *read_elf(const struct ptl_image_event *image, const struct elf_file *elf)
{
	struct ptl_symbol_table *table = NULL;
	uint8_t id[PTL_BUILD_ID_MAX];
	struct ptl_bytes bytes = {0};
	struct elf_file *debug = NULL;
	int debug_fd = -1;

	if (elf_build_id(elf, id) != image->build_id_size || memcmp(id, image->build_id, image->build_id_size) != 0)
		return NULL;
	if (!elf_has_symtab(elf))
		debug_fd = elf_open_debug(id, image->build_id_size);
	if (debug_fd >= 0 && elf_open(debug_fd, &debug))
		debug = NULL;
	if (!elf_symbols(elf, debug, &bytes) && bytes.size && ptl_symbols_decode(bytes.data, bytes.size, &table))
		table = NULL;
	elf_close(debug);
	if (debug_fd >= 0)
		close(debug_fd);
	common_bytes_free(&bytes);
	return table;
}

struct ptl_symbol_table *flow_symbols_from_file(const struct ptl_image_event *image)
{
	struct ptl_symbol_table *table = NULL;
	struct elf_file *elf;
	struct stat info;
	int fd;

	if (!image->build_id_size || image->file_name[0] != '/')
		return NULL;
	fd = common_open_regular(image->file_name, &info);
	if (fd < 0)
		return NULL;
	if (!elf_open(fd, &elf)) {
		table = read_elf(image, elf);
		elf_close(elf);
	}
	close(fd);
	return table;
}
