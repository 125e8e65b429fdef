/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of /proc/PID/maps. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/proc/maps.h"

static void test_maps_lines(void **state)
{
	static struct record_map_entry entry;

	(void)state;
	assert_true(
		record_maps_parse("7f0010000000-7f0010021000 r-xp 00003000 fe:01 1234   /usr/lib/a b.so\n", &entry));
	assert_int_equal(entry.base, 0x7f0010000000);
	assert_int_equal(entry.end, 0x7f0010021000);
	assert_int_equal(entry.file_offset, 0x3000);
	assert_int_equal(entry.inode, 1234);
	assert_string_equal(entry.path, "/usr/lib/a b.so");
	assert_false(entry.deleted || entry.shared || entry.writable);
	assert_true(record_maps_parse("1000-2000 rw-s 00000000 00:01 9 /memfd:x (deleted)\n", &entry));
	assert_true(entry.deleted && entry.shared && entry.writable);
	assert_true(record_maps_parse("1000-2000 rw-p 00000000 00:00 0 [heap]\n", &entry));
	assert_string_equal(entry.path, "");
	assert_false(entry.of_kernel);
	assert_true(record_maps_parse("7ffc2000-7ffc4000 r-xp 00000000 00:00 0    [vdso]\n", &entry));
	assert_string_equal(entry.path, "");
	assert_true(entry.of_kernel);
	assert_true(record_maps_parse("1000-2000 r-xp 00000000 fe:01 3 [vdso]\n", &entry));
	assert_false(entry.of_kernel);
	assert_true(record_maps_parse("1000-2000 r-xp 00000000 00:2b 5 /tmp/gone (deleted)\n", &entry));
	assert_string_equal(entry.path, "/tmp/gone");
	assert_true(entry.deleted);
	assert_false(record_maps_parse("1000-2000 r-xp\n", &entry));
	assert_false(record_maps_parse("hello\n", &entry));
}

/* Finds the mapping of this process with the address. */
static bool find(uint64_t address, struct record_map_entry *entry)
{
	static char line[RECORD_PATH_SIZE + 128];
	FILE *file = fopen("/proc/self/maps", "re");
	bool found = false;

	assert_non_null(file);
	while (!found && fgets(line, sizeof(line), file))
		found = record_maps_parse(line, entry) && address >= entry->base && address < entry->end;
	fclose(file);
	if (found)
		record_maps_check("", entry);
	return found;
}

static void test_maps_of_this_program(void **state)
{
	static struct record_map_entry entry;

	(void)state;
	assert_true(find((uint64_t)(uintptr_t)find, &entry));
	assert_true(entry.path[0] == '/' && !entry.deleted && entry.inode);
	assert_false(find(0x10, &entry));
}

/* The kernel shows a line feed in a path as \012, like a path with these four characters. */
static void test_maps_line_feed(void **state)
{
	static const char *const names[] = {"a\nb\nc", "a\\012b\\012c"};
	static struct record_map_entry entry;
	char folder[] = "/tmp/ptl-maps-XXXXXX", path[64];

	(void)state;
	assert_non_null(mkdtemp(folder));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *mapped;
		int fd;

		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		assert_true(fd >= 0 && ftruncate(fd, 4096) == 0);
		mapped = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
		assert_ptr_not_equal(mapped, MAP_FAILED);
		assert_true(find((uint64_t)(uintptr_t)mapped, &entry));
		assert_false(entry.deleted);
		assert_string_equal(entry.path, path);
		munmap(mapped, 4096);
		close(fd);
		unlink(path);
	}
	rmdir(folder);
}

/* A recorder inside a chroot: the kernel's path of a file in another mount namespace begins above the chroot. */
static void test_maps_above_chroot(void **state)
{
	static struct record_map_entry entry;
	char root[] = "/tmp/ptl-maps-XXXXXX", path[64];
	struct stat status;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(root));
	snprintf(path, sizeof(path), "%s/file", root);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0 && fstat(fd, &status) == 0);
	close(fd);
	for (int other_device = 0; other_device < 2; other_device++) {
		entry = (struct record_map_entry){.device = status.st_dev + (uint64_t)other_device,
						  .inode = status.st_ino};
		assert_true(record_maps_name(&entry, "/roots/here/file", strlen("/roots/here/file")));
		record_maps_check(root, &entry);
		assert_int_equal(entry.deleted, other_device);
		assert_string_equal(entry.path, other_device ? "/roots/here/file" : "/file");
		assert_int_equal(entry.device, status.st_dev + (uint64_t)other_device);
	}
	unlink(path);
	rmdir(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_maps_lines),
		cmocka_unit_test(test_maps_of_this_program),
		cmocka_unit_test(test_maps_line_feed),
		cmocka_unit_test(test_maps_above_chroot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
