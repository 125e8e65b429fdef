/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes the readers of debug files, and the search for files that debug files name.
 * Input: u32 size of an ELF file, the ELF file, and a second file. The second file is found under the names of the
 * first: its build id, the id of .gnu_debugaltlink, its .dwo file and its package. A found file must match the search.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/file.h"
#include "elf/debug_search.h"
#include "flow/symbol/debug_file.h"

#define IMAGE "/image"
#define DWO "a.dwo" /* name of the .dwo file in the corpus */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *first, *second;
	size_t first_size, second_size;
};

static char place[] = "/tmp/ptl-fuzz-XXXXXX";
static char folder[64];

static void remove_place(void)
{
	snprintf(folder, sizeof(folder), "%s/.build-id", place);
	(void)rmdir(folder);
	(void)rmdir(place);
}

static void make_place(void)
{
	if (*folder)
		return;
	if (!mkdtemp(place) || elf_debug_path_add(place) || atexit(remove_place))
		abort();
	snprintf(folder, sizeof(folder), "%s/.build-id", place);
	if (mkdir(folder, 0700))
		abort();
}

static void write_file(const char *path, const struct input *input)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || common_write_all(fd, input->second, input->second_size))
		abort();
	close(fd);
}

/* Makes the path of the file under a build id, and the path of its folder. */
static void name_of_id(const uint8_t *id, size_t size, char below[96], char path[256])
{
	snprintf(below, 96, "%s/%02x", folder, id[0]);
	snprintf(path, 256, "%s/", below);
	for (size_t i = 1; i < size; i++)
		snprintf(path + strlen(path), 256 - strlen(path), "%02x", id[i]);
	snprintf(path + strlen(path), 256 - strlen(path), ".debug");
}

static void put(const uint8_t *id, size_t size, const struct input *input)
{
	char below[96], path[256];

	name_of_id(id, size, below, path);
	if (mkdir(below, 0700))
		abort();
	write_file(path, input);
}

static void take_away(const uint8_t *id, size_t size)
{
	char below[96], path[256];

	name_of_id(id, size, below, path);
	(void)unlink(path);
	(void)rmdir(below);
}

static void check_found(int fd, const uint8_t *id, size_t size)
{
	uint8_t own[PTL_BUILD_ID_MAX];
	struct elf_file *elf;

	if (fd < 0)
		return;
	if (elf_open(fd, &elf) || elf_build_id(elf, own) != size || memcmp(own, id, size) != 0)
		abort();
	elf_close(elf);
	close(fd);
}

/* Searches by the file's build id, if the file has one. */
static void search(const struct elf_file *elf, const struct input *input)
{
	struct elf_debug_wanted wanted = {.path = IMAGE, .file = elf, .given = true};
	uint8_t id[PTL_BUILD_ID_MAX];

	wanted.build_id = id;
	wanted.build_id_size = elf_build_id(elf, id);
	if (wanted.build_id_size < 2)
		return;
	put(id, wanted.build_id_size, input);
	for (unsigned lines = 0; lines < 2; lines++) {
		wanted.lines = lines;
		wanted.file = NULL;
		check_found(elf_debug_search(&wanted), id, wanted.build_id_size);
	}
	take_away(id, wanted.build_id_size);
}

static void read_debug(const struct input *input)
{
	uint8_t *copy = malloc(input->first_size ? input->first_size : 1);
	struct flow_debug *debug;

	if (!copy)
		abort();
	memcpy(copy, input->first, input->first_size);
	debug = flow_debug_from_memory(NULL, copy, input->first_size, IMAGE, true);
	if (debug && !debug->lines)
		abort();
	for (uint64_t address = 0; debug && debug->scopes && address < 0x4000; address += 16) {
		const struct flow_scope *scope = flow_scopes_find(debug->scopes, address);

		if (scope && (!scope->function || !scope->function->name || !scope->call_file))
			abort();
	}
	flow_debug_free(debug);
}

/* Reads the file, with the shared debug file if the file names one. */
static void read_all(const struct elf_file *elf, const struct input *input)
{
	const uint8_t *id;
	const char *name;
	size_t id_size;
	uint8_t *bytes;
	const bool shared = elf_debug_shared_link(elf, &bytes, &name, &id, &id_size) && id_size >= 2;

	if (shared) {
		put(id, id_size, input);
		check_found(elf_debug_search_shared(NULL, name, id, id_size), id, id_size);
	}
	read_debug(input);
	if (shared)
		take_away(id, id_size);
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {DWO, "image.dwp"};
	struct input input = {.first = data + 4};
	char paths[2][96];
	struct elf_file *elf;

	if (size < 4)
		return 0;
	input.first_size = common_load32(data);
	if (input.first_size > size - 4)
		return 0;
	input.second = input.first + input.first_size;
	input.second_size = size - 4 - input.first_size;
	if (elf_open_memory(input.first, input.first_size, &elf) < 0)
		return 0;
	make_place();
	for (size_t i = 0; i < 2; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s/%s", place, names[i]);
		write_file(paths[i], &input);
	}
	search(elf, &input);
	read_all(elf, &input);
	for (size_t i = 0; i < 2; i++)
		(void)unlink(paths[i]);
	elf_close(elf);
	return 0;
}
