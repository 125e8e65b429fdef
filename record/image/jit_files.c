/* SPDX-License-Identifier: BSD-2-Clause */
/* Remembers processes that make code, and looks when their maps grow. Reads the files of JIT compilers at the end. */
#include "record/image/jit_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/hash_map.h"
#include "common/vector.h"
#include "elf/jit_attach.h"
#include "elf/jitdump.h"
#include "record/clock/clock.h"
#include "record/image/mapped_file.h"
#include "record/proc/proc_files.h"

#define FOLDER "/tmp"               /* perf's folder for maps, in the mount namespace of the process */
#define FILES_MAX 4096u             /* maximum number of processes and jitdumps */
#define OPEN_MAX_COUNT 256u         /* maximum number of open descriptors */
#define LOOK_PAUSE 5000000u         /* nanoseconds between two checks of maps */
#define TIMES_MAX ((size_t)1 << 20) /* maximum bytes of a map's times */

/* A process that makes code, or a jitdump. */
struct noted {
	uint32_t pid;
	uint32_t own_pid; /* pid in the process's own namespace */
	uint32_t user;
	int fd; /* the jitdump, or the folder of the perf map; AT_FDCWD: the recorder's own folder */
	bool jitdump;
	bool gone;      /* the process had ended before the recorder opened its folder, so the folder may be another */
	bool uncertain; /* the process is not known to make code */
	char name[64];  /* name of the jitdump */
	uint64_t size;  /* bytes of the perf map at the last check */
	struct ptl_bytes times; /* rows of PTL_ATTACHMENT_JIT_TIMES: times and sizes of the perf map */
};

struct record_jit_files {
	struct elf_image_sink sink;
	struct noted *list;
	size_t count, capacity;
	size_t open;
	struct timespec started;
	struct common_hash_map by_pid; /* by process: index in `list` of the entry for a perf map */
	uint64_t looked;               /* time of the last check; 0: no check yet */
	struct stat own;               /* the recorder's own folder */
	uint64_t unread;
};

int record_jit_files_new(const struct elf_image_sink *sink, struct record_jit_files **files)
{
	*files = calloc(1, sizeof(**files));
	if (!*files)
		return common_fail_memory("files of compilers", sizeof(**files));
	(*files)->sink = *sink;
	clock_gettime(CLOCK_REALTIME_COARSE, &(*files)->started);
	if (stat(FOLDER, &(*files)->own) < 0)
		(*files)->own = (struct stat){0};
	return 0;
}

void record_jit_files_free(struct record_jit_files *files)
{
	if (!files)
		return;
	for (size_t i = 0; i < files->count; i++) {
		if (files->list[i].fd >= 0)
			close(files->list[i].fd);
		common_bytes_free(&files->list[i].times);
	}
	common_hash_map_free(&files->by_pid);
	free(files->list);
	free(files);
}

/* ---- while programs run -------------------------------------------------------------------------- */

/*
 * Opens the folder of the process. *fd: AT_FDCWD if the recorder has the same folder. Returns false if the folder
 * cannot be opened.
 */
static bool open_folder(const struct record_jit_files *files, uint32_t pid, int *fd)
{
	struct stat other;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/root" FOLDER, pid);
	*fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (*fd < 0 || fstat(*fd, &other) < 0)
		return false;
	if (files->own.st_dev == other.st_dev && files->own.st_ino == other.st_ino) {
		close(*fd);
		*fd = AT_FDCWD;
	}
	if (*fd >= 0 && files->open == OPEN_MAX_COUNT) {
		close(*fd);
		return false;
	}
	return true;
}

static int add_jit_file(struct record_jit_files *files, const struct noted *noted)
{
	if (COMMON_VECTOR_RESERVE(files->list, files->capacity, files->count + 1, "files of compilers")) {
		if (noted->fd >= 0)
			close(noted->fd);
		return PTL_NO_MEMORY;
	}
	files->list[files->count++] = *noted;
	files->open += noted->fd >= 0;
	return noted->jitdump ? 0 : common_hash_map_put(&files->by_pid, noted->pid, files->count - 1);
}

/* Returns the entry of a process, or NULL. */
static struct noted *find_process(const struct record_jit_files *files, uint32_t pid)
{
	const uint64_t *index = common_hash_map_get(&files->by_pid, pid);

	return index ? &files->list[*index] : NULL;
}

static int note_process(struct record_jit_files *files, uint32_t pid)
{
	struct noted noted = {.pid = pid, .fd = AT_FDCWD};
	struct noted *known = find_process(files, pid);

	if (known) {
		known->uncertain = false;
		return 0;
	}
	if (!record_proc_identity(pid, &noted.own_pid, &noted.user)) {
		/* The process has been waited for. */
		noted.own_pid = pid;
		noted.user = geteuid();
		noted.gone = true;
	} else if (!open_folder(files, pid, &noted.fd)) {
		noted.fd = AT_FDCWD;
		noted.gone = true;
	}
	/* The folder of another namespace is unavailable now. */
	files->unread += noted.gone && noted.own_pid != pid;
	return noted.gone && noted.own_pid != pid ? 0 : add_jit_file(files, &noted);
}

static int note_jitdump(struct record_jit_files *files, const struct record_mapping *mapping)
{
	struct noted noted = {.pid = mapping->pid, .jitdump = true};
	const char *name = mapping->path + mapping->path_length;
	struct stat info, known;

	if (files->open == OPEN_MAX_COUNT)
		return 0;
	noted.fd = record_open_mapped(mapping, &info);
	if (noted.fd < 0)
		return 0;
	for (size_t i = 0; i < files->count; i++)
		if (files->list[i].jitdump && fstat(files->list[i].fd, &known) == 0 && known.st_dev == info.st_dev &&
		    known.st_ino == info.st_ino) {
			close(noted.fd);
			return 0;
		}
	while (name > mapping->path && name[-1] != '/')
		name--;
	snprintf(noted.name, sizeof(noted.name), "%.*s", (int)(mapping->path + mapping->path_length - name), name);
	return add_jit_file(files, &noted);
}

int record_jit_files_note(struct record_jit_files *files, const struct record_mapping *mapping)
{
	/* Every process has the vdso, which no compiler made. */
	if (files->count == FILES_MAX || mapping->of_kernel)
		return 0;
	if (elf_is_jitdump_name(mapping->path, mapping->path_length))
		return note_jitdump(files, mapping);
	return mapping->anonymous || mapping->deleted || !mapping->inode ? note_process(files, mapping->pid) : 0;
}

int record_jit_files_began(struct record_jit_files *files, uint32_t pid)
{
	struct noted noted = {.pid = pid, .uncertain = true};

	/* In the recorder's own folder, a map stays after the end of its process. */
	if (files->count == FILES_MAX || find_process(files, pid) ||
	    !record_proc_identity(pid, &noted.own_pid, &noted.user) || !open_folder(files, pid, &noted.fd) ||
	    noted.fd < 0)
		return 0;
	return add_jit_file(files, &noted);
}

/* Checks whether the map in the recorder's folder was written during the recording. */
static bool is_new_map(const struct record_jit_files *files, uint32_t own_pid)
{
	char path[64];
	struct stat info;

	snprintf(path, sizeof(path), FOLDER "/perf-%u.map", own_pid);
	return lstat(path, &info) == 0 &&
	       (info.st_mtim.tv_sec > files->started.tv_sec ||
		(info.st_mtim.tv_sec == files->started.tv_sec && info.st_mtim.tv_nsec >= files->started.tv_nsec));
}

/* Forgets the last entry of the list, or leaves the entry without a folder. */
static void forget_folder(struct record_jit_files *files, struct noted *noted)
{
	close(noted->fd);
	files->open--;
	noted->fd = -1;
	common_hash_map_remove(&files->by_pid, noted->pid);
	if (noted == &files->list[files->count - 1]) {
		common_bytes_free(&noted->times);
		files->count--;
	}
}

int record_jit_files_ended(struct record_jit_files *files, uint32_t pid)
{
	struct noted noted = {.pid = pid, .own_pid = pid, .user = geteuid(), .fd = AT_FDCWD, .gone = true};
	struct noted *known = find_process(files, pid);
	char name[ELF_JIT_NAME_SIZE];
	int fd;

	if (known && known->uncertain && known->fd >= 0) {
		fd = elf_jit_open_map(known->fd, known->own_pid, known->user, name);
		if (fd >= 0)
			close(fd);
		else
			forget_folder(files, known);
	}
	if (known || files->count == FILES_MAX)
		return 0;
	(void)record_proc_identity(pid, &noted.own_pid, &noted.user);
	return noted.own_pid == pid && is_new_map(files, pid) ? add_jit_file(files, &noted) : 0;
}

/* ---- checks of sizes ----------------------------------------------------------------------------- */

static int look_at_map(const struct record_jit_files *files, struct noted *noted, uint64_t now)
{
	char name[ELF_JIT_NAME_SIZE];
	struct stat info;
	const int fd = elf_jit_open_map(noted->fd, noted->own_pid, noted->user, name);

	if (fd < 0)
		return 0;
	if (fstat(fd, &info) == 0 && (uint64_t)info.st_size > noted->size && noted->times.size < TIMES_MAX) {
		noted->size = (uint64_t)info.st_size;
		common_write_le(&noted->times, noted->size, 8);
		common_write_le(&noted->times, files->looked, 8);
		common_write_le(&noted->times, now, 8);
	}
	close(fd);
	return noted->times.failed ? common_fail_memory("times of generated code", noted->times.size) : 0;
}

int record_jit_files_look(struct record_jit_files *files, uint64_t now)
{
	int status = 0;

	if (record_elapsed(files->looked, now) < LOOK_PAUSE)
		return 0;
	for (size_t i = 0; !status && i < files->count; i++) {
		struct noted *noted = &files->list[i];

		if (!noted->jitdump && noted->fd != -1 && !(noted->gone && !is_new_map(files, noted->own_pid)))
			status = look_at_map(files, noted, now);
	}
	files->looked = now;
	return status;
}

/* ---- at the end ---------------------------------------------------------------------------------- */

/* Adds a row with the trace's time of a moment of CLOCK_MONOTONIC, the clock of compilers. Equal clocks need no row. */
static void add_clock(struct ptl_bytes *times)
{
	struct timespec now;
	uint64_t monotonic, time;

	clock_gettime(CLOCK_MONOTONIC, &now);
	monotonic = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	time = record_clock_of_monotonic(monotonic);
	if (time == monotonic)
		return;
	common_write_le(times, monotonic, 8);
	common_write_le(times, time, 8);
	common_write_le(times, time, 8);
}

static int put_jitdump(const struct record_jit_files *files, const struct noted *noted)
{
	const struct elf_symbol_source source = {.fd = noted->fd};
	struct ptl_bytes times = {0};
	int status = 0;

	add_clock(&times);
	if (times.failed)
		status = common_fail_memory("times of generated code", times.size);
	else if (elf_is_jitdump(&source))
		status = elf_jit_attach(&files->sink, noted->fd, noted->pid, noted->name, &times);
	common_bytes_free(&times);
	return status;
}

/* The map of a process that ended before its first report counts only if written during the recording. */
static int put_map(const struct record_jit_files *files, const struct noted *noted)
{
	char name[ELF_JIT_NAME_SIZE];
	int fd, status = 0;

	if (noted->fd == -1 || (noted->gone && !is_new_map(files, noted->own_pid)))
		return 0;
	fd = elf_jit_open_map(noted->fd, noted->own_pid, noted->user, name);
	if (fd < 0)
		return 0;
	status = elf_jit_attach(&files->sink, fd, noted->pid, name, &noted->times);
	close(fd);
	return status;
}

uint64_t record_jit_files_unread(const struct record_jit_files *files)
{
	return files->unread;
}

int record_jit_files_put(struct record_jit_files *files)
{
	int status = 0;

	for (size_t i = 0; !status && i < files->count; i++)
		status = files->list[i].jitdump ? put_jitdump(files, &files->list[i]) : put_map(files, &files->list[i]);
	return status;
}
