/* SPDX-License-Identifier: BSD-2-Clause */
/* Searches separate debug files in folders. A file not proved to be the right file is skipped. */
#include "elf/debug_search.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "common/error.h"
#include "common/file.h"
#include "common/program/message.h"
#include "common/text/text.h"
#include "common/vector.h"
#include "elf/debuginfod.h"
#include "elf/state.h"

#define SYSTEM_FOLDER "/usr/lib/debug"
#define CRC_CHUNK (64u << 10)
#define LINK_MAX_BYTES 4096u /* limit for a section .gnu_debuglink, in bytes */

struct folder {
	const char *name;
	size_t size;
};

/* Folders given at the program's start; never changed once a search has begun. */
static struct folder *given_folders;
static size_t given_count, given_room;

int elf_debug_path_add(const char *folders)
{
	while (folders && *folders) {
		const size_t size = strcspn(folders, ":");

		if (size) {
			if (COMMON_VECTOR_RESERVE(given_folders, given_room, given_count + 1, "folders of debug files"))
				return PTL_NO_MEMORY;
			given_folders[given_count++] = (struct folder){folders, size};
		}
		folders += size + (folders[size] == ':');
	}
	return 0;
}

/*
 * Warns about missing folders of the option, which are likely typing errors. No warning for folders from the
 * environment, which may be meant for other machines.
 */
static void say_missing(const char *folders)
{
	char name[PATH_MAX];
	struct stat at;

	for (size_t size; *folders; folders += size + (folders[size] == ':')) {
		size = strcspn(folders, ":");
		if (!size || snprintf(name, sizeof(name), "%.*s", (int)size, folders) >= PATH_MAX)
			continue;
		if (stat(name, &at) < 0 || !S_ISDIR(at.st_mode))
			common_message_warning("--debug-path: there is no folder %s", name);
	}
}

int elf_debug_path_take(void *unused, const char *folders)
{
	(void)unused;
	say_missing(folders);
	return elf_debug_path_add(folders);
}

bool elf_debug_path_given(void)
{
	return given_count > 0;
}

/* ---- verifying a file ----------------------------------------------------------------------------- */

bool elf_debug_link(const struct elf_file *elf, char name[256], uint32_t *crc)
{
	uint8_t bytes[LINK_MAX_BYTES];
	GElf_Shdr header;
	size_t size, at;

	if (!elf_section(elf, SHT_PROGBITS, ".gnu_debuglink", &header) || header.sh_size > sizeof(bytes) ||
	    elf_read(elf, header.sh_offset, bytes, (size_t)header.sh_size) < 0)
		return false;
	size = strnlen((const char *)bytes, (size_t)header.sh_size);
	at = (size + 4) & ~(size_t)3; /* after the name's zero byte, aligned to 4 bytes */
	if (!size || size > 255 || at + 4 > header.sh_size || memchr(bytes, '/', size))
		return false;
	memcpy(name, bytes, size + 1);
	*crc = common_load32(bytes + at);
	return true;
}

bool elf_debug_shared_link(const struct elf_file *elf, uint8_t **bytes, const char **name, const uint8_t **build_id,
			   size_t *build_id_size)
{
	GElf_Shdr header;
	size_t size;

	*bytes = NULL;
	if (!elf_section(elf, SHT_PROGBITS, ".gnu_debugaltlink", &header) || header.sh_size > LINK_MAX_BYTES)
		return false;
	*bytes = malloc((size_t)header.sh_size + 1);
	if (!*bytes || elf_read(elf, header.sh_offset, *bytes, (size_t)header.sh_size) < 0)
		return false;
	size = strnlen((const char *)*bytes, (size_t)header.sh_size);
	*name = (const char *)*bytes;
	*build_id = *bytes + size + 1;
	*build_id_size = size < header.sh_size ? (size_t)header.sh_size - size - 1 : 0;
	return size && *build_id_size && *build_id_size <= PTL_BUILD_ID_MAX;
}

static bool has_crc(int fd, uint64_t size, uint32_t expected)
{
	uint8_t *bytes = malloc(CRC_CHUNK);
	uLong crc = crc32(0, NULL, 0);
	bool read = bytes != NULL;

	for (uint64_t at = 0; read && at < size; at += CRC_CHUNK) {
		const size_t part = size - at < CRC_CHUNK ? (size_t)(size - at) : CRC_CHUNK;

		read = common_read_at(fd, bytes, part, at) == 0;
		if (read)
			crc = crc32(crc, bytes, (uInt)part);
	}
	free(bytes);
	return read && crc == expected;
}

/* Criteria for a candidate: the build id, or the CRC of a link. */
struct proof {
	const struct elf_debug_wanted *wanted;
	const uint32_t *crc; /* NULL: only the build id counts */
};

static bool is_right(const struct proof *proof, int fd, uint64_t file_size)
{
	const struct elf_debug_wanted *wanted = proof->wanted;
	uint8_t id[PTL_BUILD_ID_MAX];
	struct elf_file *elf;
	size_t size;
	bool right;

	if (elf_open(fd, &elf) < 0)
		return false;
	size = elf_build_id(elf, id);
	if (size && wanted->build_id_size)
		right = size == wanted->build_id_size && !memcmp(id, wanted->build_id, size);
	else
		right = proof->crc != NULL;
	right = right && (wanted->lines ? elf_has_debug(elf) : elf_has_symtab(elf));
	elf_close(elf);
	return right && (!proof->crc || has_crc(fd, file_size, *proof->crc));
}

/* ---- places to search ------------------------------------------------------------------------------ */

/* Joins folder, below and name, and opens this file if it is the right file; else returns -1. */
static int try_file(const struct proof *proof, const struct folder *folder, const char *below, const char *name)
{
	const bool joined = *below != '/' && folder->size;
	char path[PATH_MAX];
	struct stat info;
	const int used = snprintf(path, sizeof(path), "%.*s%s%s%s", (int)folder->size, folder->name, joined ? "/" : "",
				  below, name);
	int fd;

	if (used < 0 || (size_t)used >= sizeof(path))
		return -1;
	fd = common_open_regular(path, &info);
	if (fd >= 0 && !is_right(proof, fd, (uint64_t)info.st_size)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

#define ID_NAME_SIZE (sizeof(".build-id//.debug") + 2 * (size_t)PTL_BUILD_ID_MAX)

/* Formats ".build-id/ab/cdef.debug". Returns false if the build id is too short or too long. */
static bool name_of_id(const uint8_t *build_id, size_t size, char name[ID_NAME_SIZE])
{
	size_t used;

	if (size < 2 || size > PTL_BUILD_ID_MAX)
		return false;
	used = (size_t)snprintf(name, ID_NAME_SIZE, ".build-id/%02x/", build_id[0]);
	for (size_t i = 1; i < size; i++)
		used += (size_t)snprintf(name + used, ID_NAME_SIZE - used, "%02x", build_id[i]);
	snprintf(name + used, ID_NAME_SIZE - used, ".debug");
	return true;
}

static int search_by_id(const struct elf_debug_wanted *wanted, const struct folder *folder)
{
	const struct proof proof = {.wanted = wanted};
	char name[ID_NAME_SIZE];
	int fd;

	if (!name_of_id(wanted->build_id, wanted->build_id_size, name))
		return -1;
	fd = try_file(&proof, folder, name, "");
	for (unsigned i = 0; fd < 0 && wanted->path && i < 4; i++)
		fd = try_file(&proof, folder, i < 2 ? wanted->path : common_base_name(wanted->path),
			      i & 1 ? ".debug" : "");
	return fd;
}

/* Follows .gnu_debuglink: beside the file, or in the file's directory below one of the folders. */
static int search_by_link(const struct elf_debug_wanted *wanted, const struct folder *folder, const char *link,
			  const uint32_t *crc)
{
	const struct proof proof = {.wanted = wanted, .crc = crc};
	const char *name = wanted->path ? common_base_name(wanted->path) : "";
	char below[PATH_MAX + 16];
	int fd = -1;

	if (wanted->path) {
		snprintf(below, sizeof(below), "%.*s", (int)(name - wanted->path), wanted->path);
		fd = try_file(&proof, folder, below, link);
		if (fd < 0 && !folder->size) {
			strcat(below, ".debug/");
			fd = try_file(&proof, folder, below, link);
		}
	}
	return fd >= 0 || !folder->size ? fd : try_file(&proof, folder, "", link);
}

static int ask_servers(const struct elf_debug_wanted *wanted)
{
	const struct proof proof = {.wanted = wanted};
	int fd = elf_debuginfod_open(wanted->build_id, wanted->build_id_size);

	if (fd >= 0 && !is_right(&proof, fd, 0)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static struct folder folder_at(size_t i)
{
	return i < given_count ? given_folders[i] : (struct folder){SYSTEM_FOLDER, strlen(SYSTEM_FOLDER)};
}

bool elf_debug_place(int fd, char path[PATH_MAX])
{
	char link[64];
	ssize_t size;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	size = readlink(link, path, PATH_MAX - 1);
	path[size > 0 && path[0] == '/' ? size : 0] = 0;
	return *path != 0;
}

const char *elf_debug_folder(size_t i, int *size)
{
	const struct folder folder = folder_at(i);

	*size = (int)folder.size;
	return i <= given_count ? folder.name : NULL;
}

int elf_debug_search(const struct elf_debug_wanted *wanted)
{
	static const struct folder nowhere = {"", 0};
	const size_t count = given_count + !wanted->given;
	struct elf_debug_wanted known = *wanted;
	char link[256];
	uint32_t crc;
	const bool linked = wanted->file && elf_debug_link(wanted->file, link, &crc);
	int fd = -1;

	if (wanted->path && (wanted->path[0] != '/' || strlen(wanted->path) >= PATH_MAX))
		known.path = NULL;
	for (size_t i = 0; fd < 0 && i < count; i++) {
		const struct folder folder = folder_at(i);

		fd = search_by_id(&known, &folder);
	}
	if (fd < 0 && linked && !wanted->given)
		fd = search_by_link(&known, &nowhere, link, &crc);
	for (size_t i = 0; fd < 0 && linked && i < count; i++) {
		const struct folder folder = folder_at(i);

		fd = search_by_link(&known, &folder, link, &crc);
	}
	return fd >= 0 || wanted->given ? fd : ask_servers(&known);
}

/* ---- files that debug files share ---------------------------------------------------------------- */

/* Opens the file if it has the build id and DWARF; else returns -1. */
static int open_shared(const char *path, const uint8_t *build_id, size_t build_id_size)
{
	struct elf_file *elf;
	GElf_Shdr header;
	int fd = elf_open_same(path, build_id, build_id_size, &elf);

	if (fd >= 0 && !elf_section(elf, SHT_PROGBITS, ".debug_info", &header)) {
		close(fd);
		fd = -1;
	}
	elf_close(elf);
	return fd;
}

int elf_debug_search_shared(const char *path, const char *name, const uint8_t *build_id, size_t build_id_size)
{
	char below[ID_NAME_SIZE], file[2 * PATH_MAX];
	int fd = -1;

	if (!name_of_id(build_id, build_id_size, below))
		return -1;
	for (size_t i = 0; fd < 0 && i <= given_count; i++) {
		const struct folder folder = folder_at(i);

		snprintf(file, sizeof(file), "%.*s/%s", (int)folder.size, folder.name, below);
		fd = open_shared(file, build_id, build_id_size);
	}
	if (fd < 0 && *name == '/')
		fd = open_shared(name, build_id, build_id_size);
	else if (fd < 0 && path && strlen(path) < PATH_MAX && strlen(name) < PATH_MAX) {
		snprintf(file, sizeof(file), "%.*s%s", (int)(common_base_name(path) - path), path, name);
		fd = open_shared(file, build_id, build_id_size);
	}
	/*
	 * The debug file may be a copy, while relative names refer to its original place. So searches by the last
	 * component of the name, too.
	 */
	for (size_t i = 0; fd < 0 && i <= given_count; i++) {
		const struct folder folder = folder_at(i);

		snprintf(file, sizeof(file), "%.*s/%.4000s", (int)folder.size, folder.name, common_base_name(name));
		fd = open_shared(file, build_id, build_id_size);
	}
	return fd >= 0 ? fd : elf_debuginfod_open(build_id, build_id_size);
}
