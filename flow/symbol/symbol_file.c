/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the symbol tables of files and their separate debug files. */
#include "flow/symbol/symbol_file.h"

#include <unistd.h>

#include "common/bytes.h"
#include "elf/debug_search.h"

/* An ELF file on disk; elf is NULL if the file cannot be opened. */
struct open_file {
	int fd;
	struct elf_file *elf;
};

static struct open_file open_elf(int fd)
{
	struct open_file file = {fd, NULL};

	if (fd >= 0 && elf_open(fd, &file.elf))
		file.elf = NULL;
	return file;
}

static void close_elf(struct open_file *file)
{
	elf_close(file->elf);
	if (file->fd >= 0)
		close(file->fd);
}

struct ptl_symbol_table *flow_symbols_from_file(const struct ptl_image_event *image, bool given)
{
	struct elf_debug_wanted wanted = {.build_id = image->build_id,
					  .build_id_size = image->build_id_size,
					  .path = image->file_name,
					  .given = given};
	struct open_file file = {-1, NULL}, debug = {-1, NULL};
	struct ptl_symbol_table *table = NULL;
	struct ptl_bytes bytes = {0};

	if (!image->build_id_size)
		return NULL;
	if (image->file_name[0] == '/')
		file.fd = elf_open_same(image->file_name, image->build_id, image->build_id_size, &file.elf);
	wanted.file = file.elf;
	if (given || !file.elf || !elf_has_symtab(file.elf))
		debug = open_elf(elf_debug_search(&wanted));
	/* Without the file itself, the debug file replaces the file; only PLT entries are missing. */
	if ((debug.elf || (file.elf && !given)) && !elf_symbols(file.elf ? file.elf : debug.elf, debug.elf, &bytes) &&
	    bytes.size && ptl_symbols_decode(bytes.data, bytes.size, &table))
		table = NULL;
	common_bytes_free(&bytes);
	close_elf(&debug);
	close_elf(&file);
	return table;
}
