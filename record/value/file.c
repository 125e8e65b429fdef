/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/value/file.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "elf/debug_search.h"
#include "elf/dwarf_open.h"

static int open_elf(const char *path, uint64_t device, uint64_t inode, struct value_file *file)
{
	struct stat status;

	file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (file->fd < 0 || fstat(file->fd, &status) < 0)
		return common_fail_errno("%s", path);
	if (!S_ISREG(status.st_mode))
		return common_fail(PTL_NOT_OURS, "%s is no regular file", path);
	if (inode && (status.st_ino != inode || status.st_dev != device))
		return common_fail(PTL_SYSTEM, "%s is another file now", path);
	return common_fail_in(elf_open(file->fd, &file->elf), "%s", path);
}

static void find_debug_file(const char *path, struct value_file *file)
{
	uint8_t id[PTL_BUILD_ID_MAX];
	const struct elf_debug_wanted wanted = {
		.build_id = id,
		.build_id_size = elf_build_id(file->elf, id),
		.path = path,
		.file = file->elf,
		.lines = true,
	};

	if (elf_has_debug(file->elf))
		return;
	file->debug_fd = elf_debug_search(&wanted);
	if (file->debug_fd >= 0 && elf_open(file->debug_fd, &file->debug) < 0)
		file->debug = NULL;
}

/* Links the file that debug files share. Without a link, libdw would open any file of the name. */
static void link_shared(struct value_file *file)
{
	const char *name = NULL;
	const void *id;
	const ssize_t size = dwelf_dwarf_gnu_debugaltlink(file->dwarf, &name, &id);
	char place[PATH_MAX];

	if (size <= 0 || !name)
		return;
	if (file->debug_fd < 0 || !elf_debug_place(file->debug_fd, place))
		place[0] = 0;
	file->shared_fd = elf_debug_search_shared(place[0] ? place : NULL, name, id, (size_t)size);
	file->libelf_shared = file->shared_fd >= 0 ? elf_begin(file->shared_fd, ELF_C_READ, NULL) : elf_open_empty();
	file->dwarf_shared = file->libelf_shared ? elf_dwarf_open(file->libelf_shared) : NULL;
	if (file->dwarf_shared)
		dwarf_setalt(file->dwarf, file->dwarf_shared);
}

int value_file_open(const char *path, uint64_t device, uint64_t inode, struct value_file *file)
{
	int status;

	*file = (struct value_file){.fd = -1, .debug_fd = -1, .shared_fd = -1};
	status = open_elf(path, device, inode, file);
	if (status == 0) {
		find_debug_file(path, file);
		status = elf_functions(file->elf, file->debug, &file->symbols);
	}
	if (status < 0) {
		value_file_close(file);
		return status;
	}
	elf_version(EV_CURRENT);
	file->libelf = elf_begin(file->fd, ELF_C_READ, NULL);
	file->frames = file->libelf ? dwarf_getcfi_elf(file->libelf) : NULL;
	if (file->debug)
		file->libelf_debug = elf_begin(file->debug_fd, ELF_C_READ, NULL);
	if (file->libelf_debug || file->libelf)
		file->dwarf = elf_dwarf_open(file->libelf_debug ? file->libelf_debug : file->libelf);
	if (file->dwarf)
		link_shared(file);
	return 0;
}

void value_file_close(struct value_file *file)
{
	const int fds[] = {file->fd, file->debug_fd, file->shared_fd};

	dwarf_end(file->dwarf);
	dwarf_end(file->dwarf_shared);
	if (file->frames)
		dwarf_cfi_end(file->frames);
	elf_end(file->libelf_shared);
	elf_end(file->libelf_debug);
	elf_end(file->libelf);
	elf_symbol_list_free(&file->symbols);
	if (file->debug)
		elf_close(file->debug);
	if (file->elf)
		elf_close(file->elf);
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	*file = (struct value_file){.fd = -1, .debug_fd = -1, .shared_fd = -1};
}
