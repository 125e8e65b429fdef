/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies this process's vdso to a memory file. All processes of a machine have the same vdso. */
#include "import/perf/vdso.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#define VDSO_MAX (1u << 20)

bool perf_is_vdso(const char *path)
{
	return !strcmp(path, PERF_VDSO_NAME);
}

/* Returns the size of the vdso: the section table is the last part of the file. */
static size_t vdso_size(const Elf64_Ehdr *header)
{
	return header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
}

static int copy_vdso(void)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	size_t size;
	int fd;

	if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_ident[EI_CLASS] != ELFCLASS64)
		return -1;
	size = vdso_size(header);
	if (size < sizeof(*header) || size > VDSO_MAX)
		return -1;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	/* If the vdso is shorter than its header says, write(2) fails with EFAULT or is short. */
	if (fd >= 0 && write(fd, header, size) != (ssize_t)size) {
		close(fd);
		fd = -1;
	}
	return fd;
}

int perf_vdso_open(struct perf_vdso *vdso)
{
	if (!vdso->copied) {
		vdso->copied = true;
		vdso->fd = copy_vdso();
	}
	return vdso->fd < 0 ? -1 : fcntl(vdso->fd, F_DUPFD_CLOEXEC, 0);
}

void perf_vdso_close(struct perf_vdso *vdso)
{
	if (vdso->copied && vdso->fd >= 0)
		close(vdso->fd);
	*vdso = (struct perf_vdso){0};
}
