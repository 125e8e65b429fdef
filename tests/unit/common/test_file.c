/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests output files that appear complete or not at all, and bounded reading, also with a full disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"

static char folder[] = "/tmp/ptl-test-file-XXXXXX";

static int enter_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? chdir(folder) : -1;
}

static int count_entries(void)
{
	DIR *dir = opendir(".");
	int count = -2; /* without . and .. */

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static int empty_folder(void **state)
{
	DIR *dir = opendir(".");
	struct dirent *entry;

	(void)state;
	if (!dir)
		return -1;
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.' && remove(entry->d_name) < 0)
			return -1;
	return closedir(dir);
}

static int leave_folder(void **state)
{
	return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : (empty_folder(state), -1);
}

static void put_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void expect_file(const char *path, const char *text)
{
	uint8_t *data;
	size_t size;

	assert_int_equal(common_read_file(path, 1000, &data, &size), 0);
	assert_int_equal(size, strlen(text));
	assert_memory_equal(data, text, size);
	free(data);
}

static void output_appears_on_commit(void **state)
{
	struct common_output_file output;
	struct stat info;
	mode_t mask = umask(0);

	(void)state;
	assert_int_equal(common_output_open(&output, "a", false), 0);
	assert_false(output.sync);
	assert_int_equal(common_write_all(output.fd, "text", 4), 0);
	assert_int_equal(access("a", F_OK), -1);
	assert_int_equal(count_entries(), 1);
	assert_int_equal(common_output_commit(&output), 0);
	assert_int_equal(count_entries(), 1);
	expect_file("a", "text");
	assert_int_equal(stat("a", &info), 0);
	assert_int_equal(info.st_mode & 0777, 0600);
	umask(mask);
	common_output_abandon(&output);
	expect_file("a", "text");
	assert_int_equal(common_output_commit(&output), PTL_MISUSE);
}

/* A process killed before commit leaves no file. */
static void an_unnamed_output_appears_on_commit(void **state)
{
	struct common_output_file output;
	struct stat info;

	(void)state;
	assert_int_equal(common_output_open_unnamed(&output, "a", false), 0);
	assert_true(output.unnamed);
	assert_int_equal(count_entries(), 0);
	assert_int_equal(common_write_all(output.fd, "text", 4), 0);
	assert_int_equal(common_output_commit(&output), 0);
	assert_int_equal(count_entries(), 1);
	expect_file("a", "text");
	assert_int_equal(stat("a", &info), 0);
	assert_int_equal(info.st_mode & 0777, 0600);
	assert_int_equal(common_output_open_unnamed(&output, "a", false), PTL_SYSTEM);
	assert_int_equal(common_output_open_unnamed(&output, "a", true), 0);
	assert_int_equal(common_write_all(output.fd, "new", 3), 0);
	assert_int_equal(count_entries(), 1);
	assert_int_equal(common_output_commit(&output), 0);
	assert_int_equal(count_entries(), 1);
	expect_file("a", "new");
	/* A file created meanwhile is not replaced. */
	assert_int_equal(common_output_open_unnamed(&output, "b", false), 0);
	put_file("b", "other");
	assert_int_equal(common_output_commit(&output), PTL_SYSTEM);
	expect_file("b", "other");
	assert_int_equal(count_entries(), 2);
	assert_int_equal(common_output_open_unnamed(&output, "c", false), 0);
	common_output_abandon(&output);
	assert_int_equal(count_entries(), 2);
}

static void abandon_leaves_nothing(void **state)
{
	struct common_output_file output;

	(void)state;
	put_file("a", "old");
	assert_int_equal(common_output_open(&output, "a", true), 0);
	assert_true(output.sync);
	assert_int_equal(common_write_all(output.fd, "new", 3), 0);
	common_output_abandon(&output);
	common_output_abandon(&output);
	assert_int_equal(count_entries(), 1);
	expect_file("a", "old");
}

/* An existing file is refused at once; a file created meanwhile is refused at commit. */
static void nothing_is_overwritten(void **state)
{
	struct common_output_file output;

	(void)state;
	put_file("a", "old");
	assert_int_equal(common_output_open(&output, "a", false), PTL_SYSTEM);
	assert_string_equal(ptl_error_text(), "a exists; -f replaces it, -o names another");
	assert_int_equal(common_output_open(&output, "b", false), 0);
	put_file("b", "meanwhile");
	assert_int_equal(common_output_commit(&output), PTL_SYSTEM);
	assert_string_equal(ptl_error_text(), "b exists; -f replaces it, -o names another");
	assert_int_equal(common_output_open_of(&output, "a", false, "--output-dir"), PTL_SYSTEM);
	assert_string_equal(ptl_error_text(), "a exists; -f replaces it, --output-dir names another");
	expect_file("a", "old");
	expect_file("b", "meanwhile");
	assert_int_equal(count_entries(), 2);
}

/* The file behind a symbolic link is replaced, not the link. */
static void force_replaces(void **state)
{
	struct common_output_file output;
	struct stat info;

	(void)state;
	put_file("a", "old");
	assert_int_equal(symlink("a", "link"), 0);
	assert_int_equal(common_output_open(&output, "link", true), 0);
	assert_int_equal(common_write_all(output.fd, "new", 3), 0);
	expect_file("a", "old");
	assert_int_equal(common_output_commit(&output), 0);
	expect_file("a", "new");
	assert_int_equal(lstat("link", &info), 0);
	assert_true(S_ISLNK(info.st_mode));
	assert_int_equal(count_entries(), 2);
}

static void bad_places(void **state)
{
	struct common_output_file output;

	(void)state;
	assert_int_equal(common_output_open(&output, "missing/a", false), PTL_SYSTEM);
	assert_string_equal(ptl_error_text(), "cannot create missing/a: No such file or directory");
	assert_int_equal(common_output_open(&output, ".", true), PTL_SYSTEM);
	assert_string_equal(ptl_error_text(), "cannot create .: it is a directory");
	assert_int_equal(common_output_open(&output, "", false), PTL_SYSTEM);
	assert_int_equal(symlink("nowhere", "dangling"), 0);
	assert_int_equal(common_output_open(&output, "dangling", true), PTL_SYSTEM);
	put_file("plain", "");
	assert_int_equal(common_output_open(&output, "plain/a", false), PTL_SYSTEM);
	assert_string_equal(ptl_error_text(), "cannot create plain/a: Not a directory");
}

/* The folder goes away while the output is written: commit says so. */
static void vanished_folder(void **state)
{
	struct common_output_file output;

	(void)state;
	assert_int_equal(mkdir("sub", 0700), 0);
	assert_int_equal(common_output_open(&output, "sub/a", false), 0);
	assert_int_equal(unlink(output.temporary), 0);
	assert_int_equal(rmdir("sub"), 0);
	assert_int_equal(common_write_all(output.fd, "text", 4), 0);
	assert_int_equal(common_output_commit(&output), PTL_SYSTEM);
	assert_string_equal(ptl_error_text(), "cannot create sub/a: No such file or directory");
	assert_int_equal(output.fd, -1);
}

static void *read_pipe(void *argument)
{
	uint8_t *data;
	size_t size;

	(void)argument;
	assert_int_equal(common_read_file("pipe", 1000, &data, &size), 0);
	assert_int_equal(size, 4);
	assert_memory_equal(data, "text", 4);
	free(data);
	return NULL;
}

static void pipes_and_devices(void **state)
{
	struct common_output_file output;
	pthread_t reader;

	(void)state;
	assert_int_equal(mkfifo("pipe", 0600), 0);
	assert_int_equal(pthread_create(&reader, NULL, read_pipe, NULL), 0);
	assert_int_equal(common_output_open(&output, "pipe", false), 0);
	assert_null(output.temporary);
	assert_int_equal(common_write_all(output.fd, "text", 4), 0);
	assert_int_equal(common_output_commit(&output), 0);
	pthread_join(reader, NULL);
	assert_int_equal(common_output_open(&output, "/dev/full", false), 0);
	assert_int_equal(common_write_all(output.fd, "text", 4), PTL_SYSTEM);
	assert_string_equal(ptl_error_text(), "cannot write: No space left on device");
	common_output_abandon(&output);
	assert_int_equal(access("/dev/full", F_OK), 0);
}

/* A partial write continues, and its failure is reported. */
static void full_disk(void **state)
{
	struct rlimit before, limit;
	struct common_output_file output;
	char text[4096] = {0};
	void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = 6000;
	assert_int_equal(common_output_open(&output, "a", false), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(common_write_all(output.fd, text, sizeof(text)), 0);
	assert_int_equal(common_write_all(output.fd, text, sizeof(text)), PTL_SYSTEM);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, handler);
	assert_string_equal(ptl_error_text(), "cannot write: File too large");
	common_output_abandon(&output);
	assert_int_equal(count_entries(), 0);
}

static void read_at(void **state)
{
	uint8_t data[8];
	int fd;

	(void)state;
	put_file("a", "0123456789");
	fd = open("a", O_RDONLY);
	assert_int_equal(common_read_at(fd, data, 4, 3), 0);
	assert_memory_equal(data, "3456", 4);
	assert_int_equal(common_read_at(fd, data, 0, 10), 0);
	assert_int_equal(common_read_at(fd, data, 4, 8), PTL_TRUNCATED);
	assert_string_equal(ptl_error_text(), "the file ends at offset 10, 2 bytes too early");
	assert_int_equal(common_read_at(fd, data, 1, UINT64_MAX), PTL_TRUNCATED);
	assert_int_equal(common_read_at(fd, data, SIZE_MAX, 1), PTL_TRUNCATED);
	close(fd);
	assert_int_equal(common_read_at(fd, data, 1, 0), PTL_SYSTEM);
}

static void read_whole_files(void **state)
{
	uint8_t *data = NULL;
	size_t size;

	(void)state;
	put_file("a", "0123456789");
	put_file("empty", "");
	expect_file("a", "0123456789");
	expect_file("empty", "");
	assert_int_equal(common_read_file("a", 10, &data, &size), 0);
	assert_int_equal(size, 10);
	assert_string_equal((const char *)data, "0123456789");
	free(data);
	assert_int_equal(common_read_file("a", SIZE_MAX, &data, &size), 0);
	free(data);
	assert_int_equal(common_read_file("a", 9, &data, &size), PTL_NO_MEMORY);
	assert_string_equal(ptl_error_text(), "a: larger than the limit of 9 bytes");
	assert_int_equal(common_read_file("a", 0, &data, &size), PTL_NO_MEMORY);
	assert_int_equal(common_read_file("empty", 0, &data, &size), 0);
	free(data);
	/* Files without a stated size: the limit still applies. */
	assert_int_equal(common_read_file("/dev/zero", 1000000, &data, &size), PTL_NO_MEMORY);
	assert_int_equal(common_read_file("/proc/self/status", 1000000, &data, &size), 0);
	assert_memory_equal(data, "Name:", 5);
	free(data);
	assert_int_equal(common_read_file("missing", 10, &data, &size), PTL_SYSTEM);
	assert_string_equal(ptl_error_text(), "cannot open missing: No such file or directory");
	assert_int_equal(common_read_file(".", 10, &data, &size), PTL_SYSTEM);
	assert_string_equal(ptl_error_text(), ".: cannot read: Is a directory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(output_appears_on_commit, empty_folder),
		cmocka_unit_test_teardown(an_unnamed_output_appears_on_commit, empty_folder),
		cmocka_unit_test_teardown(abandon_leaves_nothing, empty_folder),
		cmocka_unit_test_teardown(nothing_is_overwritten, empty_folder),
		cmocka_unit_test_teardown(force_replaces, empty_folder),
		cmocka_unit_test_teardown(bad_places, empty_folder),
		cmocka_unit_test_teardown(vanished_folder, empty_folder),
		cmocka_unit_test_teardown(pipes_and_devices, empty_folder),
		cmocka_unit_test_teardown(full_disk, empty_folder),
		cmocka_unit_test_teardown(read_at, empty_folder),
		cmocka_unit_test_teardown(read_whole_files, empty_folder),
	};

	return cmocka_run_group_tests_name("file", tests, enter_folder, leave_folder);
}
