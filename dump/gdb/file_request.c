/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests of gdb for files: open, read, status, close. */
#include "dump/gdb/file_request.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text/text.h"

/* Numbers of the protocol, which are no numbers of this system. */
enum { FILE_NOT_FOUND = 2, FILE_BAD_NUMBER = 9, FILE_REFUSED = 13, FILE_INVALID = 22, FILE_TOO_MANY = 23 };

#define FILE_PART_MAX (DUMP_GDB_PACKET_MAX / 2) /* bytes in one reply, each of which may need an escape */

static void file_fail(struct ptl_bytes *reply, unsigned error)
{
	common_text_format(reply, "F-1,%x", error);
}

/* The model's file for a path; NULL: the path is unknown. */
static const char *find_file(const struct dump_gdb_model *model, const char *path)
{
	if (model->program.file && model->program.path && strcmp(model->program.path, path) == 0)
		return model->program.file;
	for (size_t i = 0; i < model->library_count; i++)
		if (model->libraries[i].file && strcmp(model->libraries[i].path, path) == 0)
			return model->libraries[i].file;
	/* Programs name the dynamic linker by a link to its file. */
	for (size_t i = 0; i < model->library_count; i++)
		if (model->libraries[i].file &&
		    strcmp(common_base_name(model->libraries[i].path), common_base_name(path)) == 0)
			return model->libraries[i].file;
	return NULL;
}

/* text: path in hexadecimal digits, flags, mode. */
static void answer_open(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply)
{
	const char *comma = strchr(text, ',');
	struct ptl_bytes digits = {0}, path = {0};
	const char *file = NULL;
	uint64_t flags = 0;
	size_t number = 0;

	if (comma) {
		common_write_bytes(&digits, text, (size_t)(comma - text));
		text = comma + 1;
		if (dump_gdb_read_hex(&text, &flags) && dump_gdb_read_hex_bytes(common_text_string(&digits), &path))
			file = find_file(server->model, common_text_string(&path));
	}
	while (number < DUMP_GDB_FILES && server->files[number])
		number++;
	if (flags) {
		file_fail(reply, FILE_REFUSED);
	} else if (!file) {
		file_fail(reply, FILE_NOT_FOUND);
	} else if (number == DUMP_GDB_FILES) {
		file_fail(reply, FILE_TOO_MANY);
	} else {
		const int fd = open(file, O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			file_fail(reply, FILE_NOT_FOUND);
		else
			common_text_format(reply, "F%zx", number);
		server->files[number] = fd + 1;
	}
	common_bytes_free(&digits);
	common_bytes_free(&path);
}

/* Returns the file descriptor; -1: the file is not open. */
static int read_file_number(struct dump_gdb_server *server, const char **text, uint64_t *number)
{
	if (!dump_gdb_read_hex(text, number) || *number >= DUMP_GDB_FILES)
		return -1;
	return server->files[*number] - 1;
}

static void answer_read(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply)
{
	uint8_t bytes[FILE_PART_MAX];
	uint64_t number, size = 0, offset = 0;
	const int fd = read_file_number(server, &text, &number);
	ssize_t count;

	if (fd < 0) {
		file_fail(reply, FILE_BAD_NUMBER);
		return;
	}
	if (!dump_gdb_read_word(&text, ",") || !dump_gdb_read_hex(&text, &size) || !dump_gdb_read_word(&text, ",") ||
	    !dump_gdb_read_hex(&text, &offset) || offset > INT64_MAX) {
		file_fail(reply, FILE_INVALID);
		return;
	}
	count = pread(fd, bytes, size < FILE_PART_MAX ? (size_t)size : FILE_PART_MAX, (off_t)offset);
	if (count < 0) {
		file_fail(reply, FILE_INVALID);
		return;
	}
	common_text_format(reply, "F%zx;", (size_t)count);
	common_write_bytes(reply, bytes, (size_t)count);
}

static void store_be(uint8_t *to, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to[i] = (uint8_t)(value >> 8 * (size - 1 - i));
}

static void answer_status(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply)
{
	uint64_t number;
	const int fd = read_file_number(server, &text, &number);
	uint8_t bytes[64] = {0};
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0) {
		file_fail(reply, FILE_BAD_NUMBER);
		return;
	}
	/* Device, inode, mode, links, user, group, device of a node; size, block size, blocks; three times. */
	store_be(bytes, (uint64_t)status.st_dev, 4);
	store_be(bytes + 4, (uint64_t)status.st_ino, 4);
	store_be(bytes + 8, (uint64_t)(S_IFREG | 0444), 4);
	store_be(bytes + 12, 1, 4);
	store_be(bytes + 28, (uint64_t)status.st_size, 8);
	store_be(bytes + 36, 4096, 8);
	store_be(bytes + 44, ((uint64_t)status.st_size + 511) / 512, 8);
	common_text_format(reply, "F%zx;", sizeof(bytes));
	common_write_bytes(reply, bytes, sizeof(bytes));
}

static void answer_close(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply)
{
	uint64_t number;
	const int fd = read_file_number(server, &text, &number);

	if (fd < 0) {
		file_fail(reply, FILE_BAD_NUMBER);
		return;
	}
	close(fd);
	server->files[number] = 0;
	common_text_add(reply, "F0");
}

void dump_gdb_file_answer(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply)
{
	if (dump_gdb_read_word(&text, "setfs:"))
		common_text_add(reply, "F0");
	else if (dump_gdb_read_word(&text, "open:"))
		answer_open(server, text, reply);
	else if (dump_gdb_read_word(&text, "pread:"))
		answer_read(server, text, reply);
	else if (dump_gdb_read_word(&text, "fstat:"))
		answer_status(server, text, reply);
	else if (dump_gdb_read_word(&text, "close:"))
		answer_close(server, text, reply);
}

void dump_gdb_files_close(struct dump_gdb_server *server)
{
	for (size_t i = 0; i < DUMP_GDB_FILES; i++) {
		if (server->files[i])
			close(server->files[i] - 1);
		server->files[i] = 0;
	}
}
