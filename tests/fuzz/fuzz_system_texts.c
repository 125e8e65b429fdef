/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes small texts of /proc, of sysfs and of the folder of sessions. The first byte of the input selects the text:
 *
 *     0    a line of /proc/PID/maps
 *     1    the device of Intel PT in sysfs: "NAME TEXT" lines, each a file; other files are missing
 *     2    the record of an ended session
 *     3    /proc/PID/stat
 *     4    /proc/PID/status
 *     5    a program or a script for execve
 *     6    the name of a file of providers
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file.h"
#include "record/control/ended.h"
#include "record/intel_pt/device.h"
#include "record/proc/maps.h"
#include "record/proc/proc_files.h"
#include "record/proc/target.h"
#include "record/provider/shm_folder.h"

#define FILES_MAX 48
#define ENDED "fuzz"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char place[] = "/tmp/ptl-fuzz-XXXXXX";
static int folder = -1;

static void remove_place(void)
{
	record_ended_forget(folder, ENDED);
	(void)unlinkat(folder, "caps", AT_REMOVEDIR);
	(void)unlinkat(folder, "format", AT_REMOVEDIR);
	(void)rmdir(place);
}

static void make_place(void)
{
	if (folder >= 0)
		return;
	if (mkdtemp(place))
		folder = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0 || mkdirat(folder, "caps", 0700) || mkdirat(folder, "format", 0700) || atexit(remove_place))
		abort();
}

static void write_file(const char *name, const char *text, size_t size)
{
	const int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || common_write_all(fd, text, size))
		abort();
	close(fd);
}

static void read_maps(char *line, size_t size)
{
	struct record_map_entry entry;

	(void)size;
	if (record_maps_parse(line, &entry) &&
	    (!memchr(entry.path, 0, sizeof(entry.path)) || (!entry.inode && *entry.path)))
		abort();
}

/* Checks that terms lie within 64 bits and are contiguous. */
static void check_device(const struct intel_pt_device *device)
{
	for (unsigned i = 0; i < INTEL_PT_TERMS; i++) {
		const uint64_t low = device->fields[i] & -device->fields[i];

		if (low && ((device->fields[i] + low) & device->fields[i]))
			abort();
	}
	if (!device->ctc_numerator != !device->ctc_denominator || !device->fields[INTEL_PT_TSC])
		abort();
}

/* A name from elsewhere leads nowhere else. */
static bool is_name(const char *name)
{
	const char *slash = strchr(name, '/');

	if (slash && strncmp(name, "caps/", 5) != 0 && strncmp(name, "format/", 7) != 0)
		return false;
	name = slash ? slash + 1 : name;
	return *name && strspn(name, "abcdefghijklmnopqrstuvwxyz_") == strlen(name) && strlen(name) < 32;
}

static void read_device(char *text, size_t size)
{
	const char *names[FILES_MAX];
	struct intel_pt_device device;
	char *rest = NULL;
	size_t count = 0;

	(void)size;
	for (char *line = strtok_r(text, "\n", &rest); line && count < FILES_MAX; line = strtok_r(NULL, "\n", &rest)) {
		char *space = strchr(line, ' ');

		if (!space)
			continue;
		*space = 0;
		if (!is_name(line) || !strcmp(line, "caps") || !strcmp(line, "format"))
			continue;
		write_file(line, space + 1, strlen(space + 1));
		names[count++] = line;
	}
	if (intel_pt_device_read(place, &device) == 0)
		check_device(&device);
	while (count)
		(void)unlinkat(folder, names[--count], 0);
}

static void read_ended(char *data, size_t size)
{
	char memory[RECORD_ENDED_MAX];
	struct record_ended ended;

	write_file("." ENDED ".ended", data, size);
	/* Each text lies in the memory, with its zero byte. */
	if (record_ended_read(folder, ENDED, &ended, memory) == 0 &&
	    strlen(ended.why) + strlen(ended.file) + strlen(ended.messages) + strlen(ended.stem) +
			    strlen(ended.suffix) + 3 >
		    sizeof(memory))
		abort();
}

static void read_stat(char *text, size_t size)
{
	struct record_proc_stat stat;

	(void)size;
	if (record_proc_parse_stat(text, &stat) && !stat.state)
		abort();
}

static void read_status(char *text, size_t size)
{
	uint32_t pid = 0, user = 0;

	(void)size;
	if (record_proc_parse_status(text, &pid, &user) && !(strstr(text, "\nUid:") && strstr(text, "\nNSpid:")))
		abort();
}

static bool ends_in(const char *text, size_t room)
{
	return memchr(text, 0, room);
}

static void read_program(char *data, size_t size)
{
	struct record_target target;
	char path[sizeof(place) + sizeof("/program")];
	size_t words = 0;

	snprintf(path, sizeof(path), "%s/program", place);
	write_file("program", data, size);
	if (chmod(path, 0700))
		abort();
	if (record_target_find(&target, path) == 0) {
		while (target.prefix[words])
			words++;
		if (words != target.prefix_count || !ends_in(target.path, sizeof(target.path)) ||
		    (*target.script && (strcmp(target.script, path) != 0 || !words)))
			abort();
		record_target_free(&target);
	}
	(void)unlinkat(folder, "program", 0);
}

static void read_name(char *text, size_t size)
{
	struct record_shm_name name;
	uint32_t user;

	(void)size;
	record_shm_parse(text, &name);
	(void)record_shm_parse_user(text, &user);
}

static void (*const readers[])(char *text, size_t size) = {
	read_maps, read_device, read_ended, read_stat, read_status, read_program, read_name,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (!size || data[0] >= sizeof(readers) / sizeof(readers[0]))
		return 0;
	text = malloc(size);
	if (!text)
		abort();
	memcpy(text, data + 1, size - 1);
	text[size - 1] = 0;
	make_place();
	readers[data[0]](text, size - 1);
	free(text);
	return 0;
}
