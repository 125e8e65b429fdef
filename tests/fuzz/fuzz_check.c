/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes the files that ptl-record check reads below --root, which may come from another machine.
 * Input: for each file a line "@N" with the number in `files`, then the file's bytes up to the next such line. The
 * printed lines must have no control characters.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file.h"
#include "record/check/machine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DEVICE "sys/bus/event_source/devices/intel_pt/"

/* files by number: 'a', 'b' and so on */
static const char *const files[] = {
	"proc/cpuinfo",
	"proc/self/status",
	"proc/self/limits",
	"proc/self/mounts",
	"proc/kallsyms",
	"proc/kcore",
	"proc/sys/kernel/perf_event_paranoid",
	"proc/sys/kernel/perf_event_mlock_kb",
	"proc/sys/kernel/kptr_restrict",
	"sys/devices/system/cpu/online",
	"sys/kernel/security/lockdown",
	"sys/class/dmi/id/product_name",
	DEVICE "type",
	DEVICE "nr_addr_filters",
	DEVICE "caps/psb_cyc",
	DEVICE "caps/psb_periods",
	DEVICE "caps/mtc",
	DEVICE "caps/mtc_periods",
	DEVICE "caps/ip_filtering",
};
#define FILES (sizeof(files) / sizeof(files[0]))

static char place[] = "/tmp/ptl-fuzz-XXXXXX";
static int folder = -1;

/* Makes the folders of a file, or removes them if empty. */
static void for_folders(const char *file, bool make)
{
	char path[128];

	for (const char *slash = file; make && (slash = strchr(slash, '/')); slash++) {
		snprintf(path, sizeof(path), "%.*s", (int)(slash - file), file);
		(void)mkdirat(folder, path, 0700);
	}
	snprintf(path, sizeof(path), "%s", file);
	for (char *slash; !make && (slash = strrchr(path, '/'));) {
		*slash = 0;
		(void)unlinkat(folder, path, AT_REMOVEDIR);
	}
}

static void remove_place(void)
{
	for (size_t i = 0; i < FILES; i++)
		for_folders(files[i], false);
	(void)rmdir(place);
}

static void make_place(void)
{
	if (folder >= 0)
		return;
	if (mkdtemp(place))
		folder = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0 || atexit(remove_place))
		abort();
	for (size_t i = 0; i < FILES; i++)
		for_folders(files[i], true);
}

static void write_file(const char *name, const char *text, size_t size)
{
	const int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || common_write_all(fd, text, size))
		abort();
	close(fd);
}

/* "@b\n" and bytes, until the next "@". */
static void write_files(const char *data, size_t size)
{
	const char *end = data + size;

	while (data && end - data > 2) {
		const char *next = memchr(data + 1, '@', (size_t)(end - data - 1));
		const size_t number = (size_t)(data[1] - 'a');

		if (data[0] == '@' && data[2] == '\n' && number < FILES && (next ? next : end) >= data + 3)
			write_file(files[number], data + 3, (size_t)((next ? next : end) - (data + 3)));
		data = next;
	}
}

static void print(const struct check_list *list, void (*printer)(const struct check_list *list, FILE *file))
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		abort();
	printer(list, file);
	fclose(file);
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)text[i] < ' ' && text[i] != '\n')
			abort();
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct check_list list = {.root = NULL};
	char root[sizeof(place) + 1];

	make_place();
	write_files((const char *)data, size);
	snprintf(root, sizeof(root), "%s/", place);
	list.root = root;
	check_processor(&list);
	check_permissions(&list);
	if (list.failed || !list.count)
		abort();
	print(&list, check_list_print);
	print(&list, check_list_print_json);
	check_list_free(&list);
	for (size_t i = 0; i < FILES; i++)
		(void)unlinkat(folder, files[i], 0);
	return 0;
}
