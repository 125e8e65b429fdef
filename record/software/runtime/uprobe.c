/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Uprobes of the kernel are breakpoints (int3) in a process's copy of a file's page. A copied int3 is no uprobe to the
 * kernel and kills the program. So the runtime translates the file's byte instead: the program continues, and the
 * uprobe does not fire.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "record/software/runtime/instruction.h"
#include "record/software/runtime/runtime.h"
#include "record/software/runtime/translate.h"

#define INT3 0xccu

/*
 * Reads one byte of the file. A shared mapping shows the file's bytes; a private mapping would get the kernel's
 * breakpoints, too.
 */
static bool read_file_byte(const struct runtime_map *map, uint64_t offset, uint8_t *byte)
{
	const int64_t fd = RUNTIME_CALL(SYS_open, map->path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	int64_t page;
	bool found = false;

	if (fd < 0)
		return false;
	if (RUNTIME_CALL(SYS_fstat, fd, &status) == 0 && status.st_ino == map->inode && status.st_dev == map->device &&
	    offset < (uint64_t)status.st_size) {
		page = RUNTIME_CALL(SYS_mmap, 0, CHANNEL_PAGE, PROT_READ, MAP_SHARED, fd, offset & ~(CHANNEL_PAGE - 1));
		if (page > 0) {
			found = runtime_copy(byte, (const uint8_t *)page + offset % CHANNEL_PAGE, 1);
			RUNTIME_CALL(SYS_munmap, page, CHANNEL_PAGE);
		}
	}
	RUNTIME_CALL(SYS_close, fd);
	return found;
}

/*
 * Finds the file's byte at an address with an int3. False: the program may have written the int3, or the file is not
 * available.
 */
static bool find_original(uint64_t address, uint8_t *byte)
{
	static struct runtime_map map;
	const struct channel_image *image = channel_space_find(&runtime.space, address);

	if (image && image->flags & (CHANNEL_IMAGE_WRITABLE | CHANNEL_IMAGE_SHARED | CHANNEL_IMAGE_ANONYMOUS))
		return false;
	return runtime_maps_find(address, &map) && map.inode && !map.shared && !map.writable && !map.deleted &&
	       read_file_byte(&map, map.file_offset + (address - map.base), byte) && *byte != INT3;
}

static void report(struct runtime_thread *thread, uint64_t address)
{
	static bool reported;

	__atomic_add_fetch(&runtime.header->hidden_uprobes, 1, __ATOMIC_RELAXED);
	if (!reported)
		runtime_note(thread,
			     "uprobes do not fire in code that the software source translates (--source none records "
			     "their events); the first is at",
			     address);
	reported = true;
}

void runtime_uprobe_replace(struct runtime_thread *thread, uint64_t pc, uint8_t *bytes, size_t size)
{
	size_t offset = 0;

	for (unsigned i = 0; i < TRANSLATE_INSTRUCTIONS_MAX && offset < size; i++) {
		struct instruction in;

		if (bytes[offset] == INT3 && find_original(pc + offset, &bytes[offset]))
			report(thread, pc + offset);
		if (!runtime_instruction_decode(bytes + offset, size - offset, &in) ||
		    (in.kind != INSTRUCTION_PLAIN && in.kind != INSTRUCTION_CONDITION && in.kind != INSTRUCTION_LOOP))
			return;
		offset += in.length;
	}
}
