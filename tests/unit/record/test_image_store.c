/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the parts of mapped files in the trace: each part is stored once, and no other file is stored. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/wait.h>

#include "common/sha256.h"
#include "record/image/image_store.h"

#define SIZE 10000u

struct fixture {
	struct record_image_store *store;
	unsigned puts[5]; /* number of puts by blob type */
	size_t last_size;
	unsigned attached;
	struct ptl_attachment attachment; /* last attachment */
	uint8_t content[SIZE];
	char path[64];
	struct stat info;
};

static int put(void *context, uint32_t type, const void *data, size_t size, uint8_t hash[PTL_HASH_SIZE])
{
	struct fixture *fixture = context;

	fixture->puts[type]++;
	fixture->last_size = size;
	common_sha256_of(data, size, hash);
	return 0;
}

static int attach(void *context, const struct ptl_attachment *attachment)
{
	struct fixture *fixture = context;

	fixture->attached++;
	fixture->attachment = *attachment;
	return 0;
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	FILE *file;
	int fd;

	*state = fixture;
	strcpy(fixture->path, "/tmp/ptl-image-XXXXXX");
	fd = mkstemp(fixture->path);
	file = fdopen(fd, "w");
	for (unsigned i = 0; i < SIZE; i++)
		fixture->content[i] = (uint8_t)(i * 7 >> 3);
	if (fwrite(fixture->content, 1, SIZE, file) != SIZE || fclose(file) || stat(fixture->path, &fixture->info))
		return -1;
	return record_image_store_new(ELF_EMBED_DEBUG, &(struct elf_image_sink){fixture, put, attach}, &fixture->store);
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	record_image_store_free(fixture->store);
	unlink(fixture->path);
	free(fixture);
	return 0;
}

/* Returns the mapping of this process's vdso, whose code is in no file. */
static struct record_mapping vdso_mapping(void)
{
	struct record_mapping mapping = {
		.pid = (uint32_t)getpid(), .anonymous = true, .of_kernel = true, .protection = PROT_READ | PROT_EXEC};
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long long base, end;
	char line[512];

	assert_non_null(maps);
	while (!mapping.base && fgets(line, sizeof(line), maps))
		if (strstr(line, "[vdso]") && sscanf(line, "%llx-%llx", &base, &end) == 2) {
			mapping.base = base;
			mapping.size = end - base;
		}
	fclose(maps);
	return mapping;
}

static struct record_mapping mapping_of(const struct fixture *fixture, uint64_t offset, uint64_t size)
{
	return (struct record_mapping){
		.pid = (uint32_t)getpid(),
		.base = 0x10000,
		.size = size,
		.file_offset = offset,
		.device = fixture->info.st_dev,
		.inode = fixture->info.st_ino,
		.protection = 5,
		.path = fixture->path,
		.path_length = strlen(fixture->path),
	};
}

static void expect_code(const struct fixture *fixture, const struct ptl_image_event *image, uint64_t offset,
			uint64_t size)
{
	uint8_t hash[COMMON_SHA256_SIZE];

	assert_true(image->has_code);
	common_sha256_of(fixture->content + offset, size, hash);
	assert_memory_equal(image->code, hash, sizeof(hash));
}

/* Writes the perf map of this process, as a JIT compiler does, and exits. */
static void write_map(const char *path)
{
	FILE *map = fopen(path, "w");

	_exit(map && fputs("1000 10 made\n", map) >= 0 && fclose(map) == 0 ? 0 : 1);
}

/* The process has ended before the report of its code: /proc no longer shows its folders. */
static void takes_the_map_of_a_process_that_has_ended(void **state)
{
	for (unsigned waited = 0; waited < 2; waited++) {
		struct fixture *fixture = *state;
		struct record_mapping mapping = {.size = 4096, .base = 0x1000, .anonymous = true, .path = ""};
		const pid_t pid = fork();
		struct ptl_image_event image;
		char path[64];
		siginfo_t info;
		int status;

		snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid ? pid : getpid());
		if (!pid)
			write_map(path);
		assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
		assert_int_equal(info.si_status, 0);
		if (waited)
			assert_int_equal(waitpid(pid, &status, 0), pid);
		mapping.pid = (uint32_t)pid;
		assert_int_equal(record_image_store_add(fixture->store, &mapping, &image), 0);
		assert_int_equal(record_image_store_finish(fixture->store), 0);
		unlink(path);
		if (!waited)
			assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(fixture->attached, 1 + waited);
		assert_int_equal(fixture->attachment.pid, pid);
	}
}

/* A map older than the recording belongs to another process. */
static void leaves_a_map_that_is_older(void **state)
{
	struct fixture *fixture = *state;
	struct record_mapping mapping = {.size = 4096, .base = 0x1000, .anonymous = true, .path = ""};
	const struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
	const pid_t pid = fork();
	struct ptl_image_event image;
	char path[64];
	int status;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid ? pid : getpid());
	if (!pid)
		write_map(path);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	mapping.pid = (uint32_t)pid;
	assert_int_equal(record_image_store_add(fixture->store, &mapping, &image), 0);
	assert_int_equal(record_image_store_finish(fixture->store), 0);
	unlink(path);
	assert_int_equal(fixture->attached, 0);
}

static void stores_each_range_once(void **state)
{
	struct fixture *fixture = *state;
	struct record_mapping mapping = mapping_of(fixture, 4096, 4096);
	struct ptl_image_event image;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(record_image_store_add(fixture->store, &mapping, &image), 0);
		expect_code(fixture, &image, 4096, 4096);
	}
	assert_int_equal(fixture->puts[PTL_BLOB_CODE], 1);
	assert_string_equal(image.file_name, fixture->path);
	assert_int_equal(image.default_base, 4096);
	assert_false(image.has_symbols);
	/* The mapping's last page goes beyond the file. */
	mapping = mapping_of(fixture, 8192, 4096);
	assert_int_equal(record_image_store_add(fixture->store, &mapping, &image), 0);
	expect_code(fixture, &image, 8192, SIZE - 8192);
	assert_int_equal(fixture->puts[PTL_BLOB_CODE], 2);
	/* This range is outside of the file. */
	mapping = mapping_of(fixture, 1 << 20, 4096);
	assert_int_equal(record_image_store_add(fixture->store, &mapping, &image), 0);
	assert_false(image.has_code);
}

static void sees_that_a_file_changed(void **state)
{
	struct fixture *fixture = *state;
	const struct record_mapping mapping = mapping_of(fixture, 0, 4096);
	const struct timespec times[2] = {{1, 2}, {3, 4}};
	struct ptl_image_event image;
	FILE *file;

	assert_int_equal(record_image_store_add(fixture->store, &mapping, &image), 0);
	file = fopen(fixture->path, "r+");
	assert_non_null(file);
	fixture->content[5] ^= 1;
	assert_int_equal(fwrite(fixture->content, 1, SIZE, file), SIZE);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(utimensat(0, fixture->path, times, 0), 0);
	assert_int_equal(record_image_store_add(fixture->store, &mapping, &image), 0);
	expect_code(fixture, &image, 0, 4096);
	assert_int_equal(fixture->puts[PTL_BLOB_CODE], 2);
}

static void takes_no_other_file(void **state)
{
	struct fixture *fixture = *state;
	struct record_mapping mapping = mapping_of(fixture, 0, 4096);
	struct ptl_image_event image;

	mapping.inode++;
	assert_int_equal(record_image_store_add(fixture->store, &mapping, &image), 0);
	assert_false(image.has_code);
	mapping = mapping_of(fixture, 0, 4096);
	mapping.path = "relative";
	mapping.path_length = 8;
	assert_int_equal(record_image_store_add(fixture->store, &mapping, &image), 0);
	assert_false(image.has_code);
	mapping.path = "/dev/null";
	mapping.path_length = 9;
	assert_int_equal(record_image_store_add(fixture->store, &mapping, &image), 0);
	assert_false(image.has_code);
	mapping = mapping_of(fixture, 0, 4096);
	mapping.anonymous = true;
	mapping.path_length = 0;
	assert_int_equal(record_image_store_add(fixture->store, &mapping, &image), 0);
	assert_false(image.has_code);
	assert_string_equal(image.file_name, "//anon");
	mapping = mapping_of(fixture, 0, 4096);
	mapping.deleted = true;
	mapping.path = "/memfd:jit (deleted)";
	mapping.path_length = strlen(mapping.path);
	assert_int_equal(record_image_store_add(fixture->store, &mapping, &image), 0);
	assert_false(image.has_code);
	assert_string_equal(image.file_name, "memfd:jit");
	assert_int_equal(fixture->puts[PTL_BLOB_CODE], 0);
}

static void stores_a_programs_symbols_and_debug_file(void **state)
{
	struct fixture *fixture = *state;
	struct record_mapping mapping;
	struct ptl_image_event image, second;
	char own[4096];
	ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);

	assert_true(length > 0);
	own[length] = 0;
	assert_int_equal(stat(own, &fixture->info), 0);
	mapping = mapping_of(fixture, 0x1000, 0x1000);
	mapping.path = own;
	mapping.path_length = (size_t)length;
	assert_int_equal(record_image_store_add(fixture->store, &mapping, &image), 0);
	assert_true(image.has_code && image.has_symbols && image.has_debug);
	assert_int_equal(image.build_id_size, 20);
	/* Another range of the file has its own code, and shares the rest. */
	mapping.file_offset = 0x2000;
	assert_int_equal(record_image_store_add(fixture->store, &mapping, &second), 0);
	assert_memory_equal(image.symbols, second.symbols, PTL_HASH_SIZE);
	assert_memory_equal(image.debug, second.debug, PTL_HASH_SIZE);
	assert_int_equal(fixture->puts[PTL_BLOB_CODE], 2);
	assert_int_equal(fixture->puts[PTL_BLOB_SYMBOLS], 1);
	assert_int_equal(fixture->puts[PTL_BLOB_DEBUG], 1);
	assert_int_equal(fixture->last_size, 0x1000);
}

/* The perf map of this process, owned by the user. */
static void takes_the_perf_map_of_a_process_that_makes_code(void **state)
{
	struct fixture *fixture = *state;
	const struct record_mapping mapping = {.pid = (uint32_t)getpid(), .size = 4096, .anonymous = true, .path = ""};
	struct ptl_image_event image;
	char map[64], elsewhere[80];
	FILE *file;

	snprintf(map, sizeof(map), "/tmp/perf-%d.map", getpid());
	snprintf(elsewhere, sizeof(elsewhere), "%s.link", fixture->path);
	file = fopen(map, "w");
	assert_non_null(file);
	assert_true(fputs("1000 10 made\n", file) > 0 && fclose(file) == 0);
	assert_int_equal(record_image_store_finish(fixture->store), 0);
	assert_int_equal(fixture->attached, 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(record_image_store_add(fixture->store, &mapping, &image), 0);
	assert_int_equal(record_image_store_finish(fixture->store), 0);
	assert_int_equal(fixture->attached, 1);
	assert_int_equal(fixture->last_size, 13);
	assert_int_equal(fixture->puts[PTL_BLOB_FILE], 1);
	assert_int_equal(fixture->attachment.kind, PTL_ATTACHMENT_JIT);
	assert_int_equal(fixture->attachment.pid, getpid());
	/* Not the process's own file: a link, a pipe without a writer, and, if testable, a file of another user. */
	assert_int_equal(rename(map, elsewhere), 0);
	assert_int_equal(symlink(elsewhere, map), 0);
	assert_int_equal(record_image_store_finish(fixture->store), 0);
	unlink(map);
	assert_int_equal(mkfifo(map, 0600), 0);
	assert_int_equal(record_image_store_finish(fixture->store), 0);
	unlink(map);
	assert_int_equal(rename(elsewhere, map), 0);
	if (chown(map, 12345, (gid_t)-1) == 0)
		assert_int_equal(record_image_store_finish(fixture->store), 0);
	assert_int_equal(fixture->attached, 1);
	unlink(map);
}

/* Addresses follow the vdso's ELF header, so that they are equal in all processes. */
static void knows_the_vdso(void **state)
{
	struct fixture *fixture = *state;
	struct record_mapping mapping = vdso_mapping();
	struct ptl_image_event image;
	const uint8_t *code;

	if (!mapping.base) {
		print_message("skipped: this kernel maps no vdso\n");
		skip();
	}
	assert_int_equal(record_image_store_add(fixture->store, &mapping, &image), 0);
	assert_string_equal(image.file_name, "[vdso]");
	assert_int_equal(image.default_base, 0);
	code = record_vdso_code(&image);
	assert_non_null(code);
	assert_memory_equal(code, (const void *)(uintptr_t)mapping.base, mapping.size);
	/* A vdso of another size differs, as does the vdso of a 32-bit process. */
	mapping.size += 4096;
	assert_int_equal(record_image_store_add(fixture->store, &mapping, &image), 0);
	assert_null(record_vdso_code(&image));
	mapping.size -= 4096;
	mapping.base = 0xf7fc0000;
	assert_int_equal(record_image_store_add(fixture->store, &mapping, &image), 0);
	assert_null(record_vdso_code(&image));
	mapping.of_kernel = false;
	mapping.base = 0x7ffff7fc0000;
	assert_int_equal(record_image_store_add(fixture->store, &mapping, &image), 0);
	assert_null(record_vdso_code(&image));
	assert_int_equal(image.default_base, mapping.base);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(takes_the_map_of_a_process_that_has_ended),
		TEST(leaves_a_map_that_is_older),
		TEST(stores_each_range_once),
		TEST(sees_that_a_file_changed),
		TEST(takes_no_other_file),
		TEST(stores_a_programs_symbols_and_debug_file),
		TEST(knows_the_vdso),
		TEST(takes_the_perf_map_of_a_process_that_makes_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
