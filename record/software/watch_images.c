/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the function's addresses in a process, and sets hardware breakpoints. */
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <unistd.h>

#include "common/program/message.h"
#include "common/text/text.h"
#include "common/vector.h"
#include "record/proc/maps.h"
#include "record/software/watch_state.h"

void software_watch_disarm(pid_t tid)
{
	ptrace(PTRACE_POKEUSER, tid, offsetof(struct user, u_debugreg[7]), 0);
	for (unsigned i = 0; i < WATCH_BREAKPOINTS; i++)
		ptrace(PTRACE_POKEUSER, tid, offsetof(struct user, u_debugreg[0]) + i * sizeof(uint64_t), 0);
}

void software_watch_arm(struct watch *watch, const struct watched *thread)
{
	uint64_t enabled = 0;
	bool set = true;

	/* Other threads of the process may have no tracer any more. */
	if (watch->ending)
		return;
	if (watch->by_code) {
		software_watch_plant(thread);
		return;
	}
	software_watch_disarm(thread->tid);
	for (unsigned i = 0; i < WATCH_BREAKPOINTS; i++) {
		if (!thread->breakpoints[i])
			continue;
		enabled |= 1ull << 2 * i;
		set &= ptrace(PTRACE_POKEUSER, thread->tid, offsetof(struct user, u_debugreg[0]) + i * sizeof(uint64_t),
			      thread->breakpoints[i]) == 0;
	}
	set &= ptrace(PTRACE_POKEUSER, thread->tid, offsetof(struct user, u_debugreg[7]), enabled) == 0;
	if (!set && !watch->said)
		common_message_warning("--start-at: this machine gives programs no breakpoints of the CPU");
	watch->said |= !set;
}

/* ---- images ---------------------------------------------------------------------------------- */

/* Returns the byte of the file at the offset; int3, which is never replaced: no such byte. */
static uint8_t read_byte(const char *path, uint64_t offset)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	uint8_t byte;

	if (fd < 0 || pread(fd, &byte, 1, (off_t)offset) != 1)
		byte = 0xcc;
	if (fd >= 0)
		close(fd);
	return byte;
}

/* place: path of the file in the recorder's file system. */
static void read_file(struct watch *watch, struct watch_file *file, const char *place)
{
	const struct software_function linker = {.name = "_dl_debug_state"};
	uint64_t offsets[SOFTWARE_FUNCTIONS_MAX];

	if (software_function_is_in(watch->function, file->path))
		file->count = software_function_find(watch->function, place, file->offsets, NULL, 0);
	if (!strncmp(common_base_name(file->path), "ld", 2) &&
	    software_function_find(&linker, place, offsets, NULL, 0)) {
		file->linker_break = offsets[0];
		file->linker_byte = read_byte(place, offsets[0]);
	}
	for (size_t i = 0; i < file->count; i++)
		file->bytes[i] = read_byte(place, file->offsets[i]);
}

static struct watch_file *known_file(const struct watch *watch, const struct record_map_entry *entry)
{
	for (size_t i = 0; i < watch->file_count; i++)
		if (watch->files[i].inode == entry->inode && watch->files[i].device == entry->device &&
		    !strcmp(watch->files[i].path, entry->path))
			return &watch->files[i];
	return NULL;
}

/* Returns the mapped file of the process. NULL: the file has another place now, or no memory. */
static const struct watch_file *find_file(struct watch *watch, pid_t pid, const struct record_map_entry *entry)
{
	static struct record_map_entry checked;
	char root[64], place[sizeof(root) + RECORD_PATH_SIZE];
	struct watch_file *file = known_file(watch, entry);

	if (file)
		return file;
	/* The process may have another root: the same path may lead the recorder to another file. */
	snprintf(root, sizeof(root), "/proc/%d/root", pid);
	checked = *entry;
	record_maps_check(root, &checked);
	if (checked.deleted || !COMMON_VECTOR_GROW(watch->files, watch->file_capacity, watch->file_count + 1))
		return NULL;
	snprintf(place, sizeof(place), "%s%s", root, checked.path);
	file = &watch->files[watch->file_count++];
	*file = (struct watch_file){.inode = entry->inode, .device = entry->device};
	snprintf(file->path, sizeof(file->path), "%s", entry->path);
	read_file(watch, file, place);
	return file;
}

/* Returns the address of a file offset in the mapping; 0: outside of the mapping. */
static uint64_t address_in(uint64_t base, uint64_t end, uint64_t first, uint64_t offset)
{
	return offset >= first && offset - first < end - base ? base + (offset - first) : 0;
}

/* Adds the breakpoints for a mapping. */
static void add_mapping(struct watch *watch, const struct record_map_entry *entry, struct watched *thread)
{
	const uint64_t base = entry->base, end = entry->end, first = entry->file_offset;
	const struct watch_file *file;
	unsigned used = 1;

	if (!entry->executable || entry->path[0] != '/' || entry->deleted)
		return;
	file = find_file(watch, thread->pid, entry);
	if (!file)
		return;
	if (file->linker_break && address_in(base, end, first, file->linker_break)) {
		thread->breakpoints[WATCH_LINKER] = address_in(base, end, first, file->linker_break);
		thread->bytes[WATCH_LINKER] = file->linker_byte;
	}
	while (used < WATCH_BREAKPOINTS && thread->breakpoints[used])
		used++;
	for (size_t i = 0; i < file->count && used < WATCH_BREAKPOINTS; i++) {
		const uint64_t address = address_in(base, end, first, file->offsets[i]);

		if (address) {
			thread->bytes[used] = file->bytes[i];
			thread->breakpoints[used++] = address;
		}
	}
}

static void read_maps(struct watch *watch, struct watched *thread)
{
	static struct record_map_entry entry;
	struct record_maps maps;

	record_maps_open(&maps, (uint32_t)thread->pid);
	while (record_maps_next(&maps, &entry))
		add_mapping(watch, &entry, thread);
	record_maps_close(&maps);
}

void software_watch_look(struct watch *watch, pid_t pid, pid_t stopped)
{
	struct watched like = {.pid = pid};

	read_maps(watch, &like);
	for (size_t i = 0; i < watch->count; i++) {
		struct watched *thread = &watch->threads[i];

		if (thread->pid != pid || !memcmp(thread->breakpoints, like.breakpoints, sizeof(like.breakpoints)))
			continue;
		memcpy(thread->breakpoints, like.breakpoints, sizeof(like.breakpoints));
		memcpy(thread->bytes, like.bytes, sizeof(like.bytes));
		/* Debug registers are set at a stop: a running thread gets the breakpoints at its next stop. */
		if (!stopped || thread->tid == stopped)
			software_watch_arm(watch, thread);
		else if (!watch->by_code)
			ptrace(PTRACE_INTERRUPT, thread->tid, 0, 0);
	}
}
