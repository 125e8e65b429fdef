/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads /proc/self/maps without a libc. */
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "record/software/runtime/runtime.h"

#define BUFFER 8192u
#define GAP_MARGIN 0x10000ull
#define ADDRESSES_END 0x7ffffffff000ull

/* Cursor in one line. */
struct line {
	const char *at;
};

static uint64_t number(struct line *line, unsigned base)
{
	uint64_t value = 0;

	for (;; line->at++) {
		const char c = *line->at;
		const unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
				       : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
							      : 99;

		if (digit >= base)
			return value;
		value = value * base + digit;
	}
}

static bool parse(const char *text, struct runtime_map *map)
{
	struct line line = {text};
	uint64_t major_number, minor_number;
	size_t length = 0;

	/* The path is not cleared, as this runs for each line. */
	map->deleted = false;
	map->base = number(&line, 16);
	if (*line.at++ != '-')
		return false;
	map->end = number(&line, 16);
	if (strlen(line.at) < 6)
		return false;
	map->readable = line.at[1] == 'r';
	map->writable = line.at[2] == 'w';
	map->executable = line.at[3] == 'x';
	map->shared = line.at[4] == 's';
	line.at += 6;
	map->file_offset = number(&line, 16);
	line.at++;
	major_number = number(&line, 16);
	line.at++;
	minor_number = number(&line, 16);
	line.at++;
	map->inode = number(&line, 10);
	map->device = makedev((unsigned)major_number, (unsigned)minor_number);
	while (*line.at == ' ')
		line.at++;
	if (map->inode)
		length = strlen(line.at);
	if (length >= sizeof(map->path))
		length = 0;
	memcpy(map->path, line.at, length);
	map->path[length] = 0;
	if (length > 10 && !memcmp(map->path + length - 10, " (deleted)", 10)) {
		map->path[length - 10] = 0;
		map->deleted = true;
	}
	if (length >= 7 && !memcmp(map->path, "/memfd:", 7))
		map->deleted = true;
	return true;
}

/*
 * Corrects the device by stat, as some file systems show another device in maps. If the path now leads to another
 * inode, marks the file as deleted.
 */
static void check_file(struct runtime_map *map)
{
	struct stat status;

	if (!map->inode || map->deleted)
		return;
	if (RUNTIME_CALL(SYS_stat, map->path, &status) || status.st_ino != map->inode)
		map->deleted = true;
	else
		map->device = status.st_dev;
}

/* Calls `use` for each mapping in ascending order until `use` returns true. */
static bool find_map(struct runtime_map *map, bool (*use)(void *, const struct runtime_map *), void *context)
{
	char buffer[BUFFER];
	const int64_t fd = runtime_proc_open("self/maps", "/proc/self/maps");
	size_t used = 0;
	int64_t n;
	bool found = false;

	if (fd < 0)
		return false;
	while (!found && (n = RUNTIME_CALL(SYS_read, fd, buffer + used, sizeof(buffer) - 1 - used)) > 0) {
		size_t start = 0;

		used += (size_t)n;
		for (size_t i = 0; i < used && !found; i++) {
			if (buffer[i] != '\n')
				continue;
			buffer[i] = 0;
			found = parse(buffer + start, map) && use(context, map);
			start = i + 1;
		}
		memmove(buffer, buffer + start, used - start);
		used -= start;
		if (used == sizeof(buffer) - 1)
			used = 0;
	}
	RUNTIME_CALL(SYS_close, fd);
	return found;
}

static bool has_address(void *context, const struct runtime_map *map)
{
	const uint64_t address = *(const uint64_t *)context;

	return address >= map->base && address < map->end;
}

bool runtime_maps_find(uint64_t address, struct runtime_map *map)
{
	const bool found = find_map(map, has_address, &address);

	if (found)
		check_file(map);
	return found;
}

static bool is_next_executable(void *context, const struct runtime_map *map)
{
	return map->executable && *(const uint64_t *)context < map->end;
}

bool runtime_maps_next_executable(uint64_t address, struct runtime_map *map)
{
	const bool found = find_map(map, is_next_executable, &address);

	if (found)
		check_file(map);
	return found;
}

struct data_run {
	uint64_t address, start, end; /* end of the wanted mappings; range of the last such mappings without a gap */
};

static bool extends_run(void *context, const struct runtime_map *map)
{
	struct data_run *run = context;
	const bool is_data = map->readable && !map->writable && !map->executable && !map->shared && !map->inode;

	if (map->base >= run->address)
		return true;
	if (!is_data)
		run->end = 0;
	else if (map->base != run->end)
		run->start = map->base;
	if (is_data)
		run->end = map->end;
	return false;
}

uint64_t runtime_maps_data_below(uint64_t address)
{
	static struct runtime_map map;
	struct data_run run = {address, 0, 0};

	find_map(&map, extends_run, &run);
	return run.end == address ? run.start : address;
}

/* ---- free memory ---- */

struct gap {
	uint64_t low, high, size; /* wanted range and size */
	uint64_t at;              /* the end of the last mapping */
	uint64_t best, best_size;
};

static void look_at(struct gap *gap, uint64_t from, uint64_t to)
{
	const uint64_t low = (from > gap->low ? from : gap->low) + GAP_MARGIN - 1,
		       high = to < gap->high ? to : gap->high;

	if (high <= low || high - low < gap->size + 2 * GAP_MARGIN || high - low <= gap->best_size)
		return;
	gap->best_size = high - low;
	/*
	 * Far from both ends of the gap: the kernel allocates from the upper end, and a heap grows from the lower end.
	 */
	if (high < to)
		gap->best = high - gap->size;
	else if (from < gap->low)
		gap->best = low;
	else
		gap->best = low + (high - low) / 2;
	gap->best &= ~(GAP_MARGIN - 1);
}

static bool look_before(void *context, const struct runtime_map *map)
{
	struct gap *gap = context;

	/* The stack's reserved range belongs to no gap. */
	look_at(gap, gap->at,
		map->base < runtime.stack_low || gap->at >= runtime.stack_end ? map->base : runtime.stack_low);
	gap->at = map->end;
	return false;
}

uint64_t runtime_maps_gap(uint64_t low, uint64_t high, uint64_t size)
{
	static struct runtime_map map;
	struct gap gap = {low, high < ADDRESSES_END ? high : ADDRESSES_END, size, GAP_MARGIN, 0, 0};

	find_map(&map, look_before, &gap);
	return gap.best;
}
