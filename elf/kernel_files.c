/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the kernel's file by its build id. */
#include "elf/kernel_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"
#include "elf/file.h"

#define NOTES_MAX 65536u

size_t elf_kernel_build_id(const char *root, const char *module, uint8_t id[PTL_BUILD_ID_MAX])
{
	char path[ELF_KERNEL_PATH];
	uint8_t *notes;
	size_t size, id_size;

	if (*module)
		snprintf(path, sizeof(path), "%.4000s/sys/module/%.100s/notes/.note.gnu.build-id", root, module);
	else
		snprintf(path, sizeof(path), "%.4000s/sys/kernel/notes", root);
	if (strchr(module, '/') || common_read_file(path, NOTES_MAX, &notes, &size) < 0)
		return 0;
	id_size = elf_notes_build_id(notes, size, id);
	free(notes);
	return id_size;
}

static bool has_id(const char *path, const uint8_t *id, size_t id_size)
{
	uint8_t found[PTL_BUILD_ID_MAX];
	struct elf_file *elf;
	struct stat info;
	const int fd = common_open_regular(path, &info);
	bool same = false;

	if (fd < 0)
		return false;
	if (elf_open(fd, &elf) == 0) {
		same = elf_build_id(elf, found) == id_size && !memcmp(found, id, id_size);
		elf_close(elf);
	}
	close(fd);
	return same;
}

/* Writes the file name for a build id: "ab/cdef...". */
static void name_by_id(const uint8_t *id, size_t id_size, char name[2 * PTL_BUILD_ID_MAX + 2])
{
	size_t used = (size_t)snprintf(name, 4, "%02x/", id[0]);

	for (size_t i = 1; i < id_size; i++)
		used += (size_t)snprintf(name + used, 3, "%02x", id[i]);
}

int elf_kernel_find_file(const char *root, const char *release, const uint8_t *id, size_t id_size,
			 struct elf_kernel_file **file, char path[ELF_KERNEL_PATH])
{
	/* Text before and behind the kernel's release; the last place uses the build id. */
	static const struct {
		const char *before, *behind;
	} places[] = {
		{"/usr/lib/debug/boot/vmlinux-", ""},
		{"/usr/lib/debug/lib/modules/", "/vmlinux"},
		{"/lib/modules/", "/vmlinux"},
		{"/lib/modules/", "/build/vmlinux"},
		{"/boot/vmlinux-", ""},
		{"/usr/lib/debug/.build-id/", ".debug"},
	};
	const size_t count = sizeof(places) / sizeof(places[0]);
	char name[2 * PTL_BUILD_ID_MAX + 2] = "";
	struct utsname kernel;

	if (!id_size || uname(&kernel) < 0)
		return common_fail(PTL_SYSTEM, "the kernel does not show its build id (/sys/kernel/notes)");
	release = release ? release : kernel.release;
	name_by_id(id, id_size, name);
	for (size_t i = 0; i < count; i++) {
		snprintf(path, ELF_KERNEL_PATH, "%.4000s%s%.80s%s", root, places[i].before,
			 i + 1 < count ? release : name, places[i].behind);
		if (has_id(path, id, id_size) && elf_kernel_file_open(path, file) == 0)
			return 0;
	}
	return common_fail(PTL_SYSTEM, "there is no vmlinux-%s with the build id of this kernel", release);
}
