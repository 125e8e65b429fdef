/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads program headers and segments. */
#include "elf/kernel_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"

#define SEGMENTS_MAX 4096 /* kcore has about ten */
#define UPPER_HALF (1ull << 63)

struct elf_kernel_file {
	int fd;
	Elf64_Phdr *segments; /* loaded segments */
	size_t count;
};

static bool is_ours(const Elf64_Ehdr *header)
{
	return !memcmp(header->e_ident, ELFMAG, SELFMAG) && header->e_ident[EI_CLASS] == ELFCLASS64 &&
	       header->e_ident[EI_DATA] == ELFDATA2LSB && header->e_machine == EM_X86_64 &&
	       (header->e_type == ET_CORE || header->e_type == ET_EXEC || header->e_type == ET_DYN);
}

/* Checks that the segment wraps neither addresses nor file offsets. */
static bool is_loaded(const Elf64_Phdr *segment)
{
	return segment->p_type == PT_LOAD && segment->p_filesz &&
	       segment->p_vaddr + (segment->p_filesz - 1) >= segment->p_vaddr && segment->p_offset <= INT64_MAX &&
	       segment->p_filesz <= INT64_MAX - segment->p_offset;
}

static int read_segments(struct elf_kernel_file *file, const char *path)
{
	Elf64_Ehdr header;
	size_t left = 0;
	int status = common_read_at(file->fd, &header, sizeof(header), 0);

	if (status == PTL_TRUNCATED || (status == 0 && !is_ours(&header)))
		return common_fail(PTL_NOT_OURS, "%s is no ELF file of x86-64", path);
	if (status < 0)
		return common_fail_in(status, "%s", path);
	if (header.e_phentsize != sizeof(*file->segments) || !header.e_phnum || header.e_phnum > SEGMENTS_MAX ||
	    header.e_phoff > INT64_MAX)
		return common_fail(PTL_CORRUPT,
				   "%s: offset %zu: program headers of %u bytes, %u of them, make no sense", path,
				   offsetof(Elf64_Ehdr, e_phentsize), header.e_phentsize, header.e_phnum);
	file->segments = calloc(header.e_phnum, sizeof(*file->segments));
	if (!file->segments)
		return common_fail_memory("program headers", header.e_phnum * sizeof(*file->segments));
	status = common_read_at(file->fd, file->segments, header.e_phnum * sizeof(*file->segments), header.e_phoff);
	if (status < 0)
		return common_fail_in(PTL_CORRUPT, "%s: program headers", path);
	for (size_t i = 0; i < header.e_phnum; i++)
		if (is_loaded(&file->segments[i]))
			file->segments[left++] = file->segments[i];
	file->count = left;
	return 0;
}

int elf_kernel_file_open(const char *path, struct elf_kernel_file **file)
{
	struct elf_kernel_file *opened = calloc(1, sizeof(*opened));
	int status;

	if (!opened)
		return common_fail_memory("kernel's code", sizeof(*opened));
	opened->fd = open(path, O_RDONLY | O_CLOEXEC);
	status = opened->fd < 0 ? common_fail_errno("%s", path) : read_segments(opened, path);
	if (status < 0)
		elf_kernel_file_close(opened);
	else
		*file = opened;
	return status;
}

void elf_kernel_file_close(struct elf_kernel_file *file)
{
	if (!file)
		return;
	if (file->fd >= 0)
		close(file->fd);
	free(file->segments);
	free(file);
}

bool elf_kernel_file_text(const struct elf_kernel_file *file, uint64_t *address)
{
	bool found = false;

	for (size_t i = 0; i < file->count; i++) {
		const Elf64_Phdr *segment = &file->segments[i];

		if (!(segment->p_flags & PF_X) || segment->p_vaddr < UPPER_HALF ||
		    (found && segment->p_vaddr >= *address))
			continue;
		*address = segment->p_vaddr;
		found = true;
	}
	return found;
}

/* Reads the part of the range in a single segment. Returns the number of bytes. */
static size_t read_piece(const struct elf_kernel_file *file, uint64_t address, uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < file->count; i++) {
		const Elf64_Phdr *segment = &file->segments[i];
		const uint64_t from = address - segment->p_vaddr;
		ssize_t got;

		if (address < segment->p_vaddr || from >= segment->p_filesz)
			continue;
		if (size > segment->p_filesz - from)
			size = (size_t)(segment->p_filesz - from);
		do
			got = pread(file->fd, bytes, size, (off_t)(segment->p_offset + from));
		while (got < 0 && errno == EINTR);
		return got > 0 ? (size_t)got : 0;
	}
	return 0;
}

size_t elf_kernel_file_read(const struct elf_kernel_file *file, uint64_t address, uint8_t *bytes, size_t size)
{
	size_t done = 0, got = 1;

	while (done < size && got) {
		got = address + done < address ? 0 : read_piece(file, address + done, bytes + done, size - done);
		done += got;
	}
	return done;
}
