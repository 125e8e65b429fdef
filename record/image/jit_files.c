/* SPDX-License-Identifier: BSD-2-Clause */
/* Remembers processes that make code. Reads the files of JIT compilers at the end. */
#include "record/image/jit_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/error.h"
#include "common/vector.h"
#include "elf/jit_attach.h"
#include "elf/jitdump.h"
#include "record/image/mapped_file.h"
#include "record/model/proc_files.h"

#define FOLDER "/tmp"       /* perf's folder for maps, in the mount namespace of the process */
#define FILES_MAX 4096u     /* maximum number of processes and jitdumps */
#define OPEN_MAX_COUNT 256u /* maximum number of open descriptors */

/* A process that makes code, or a jitdump. */
struct noted {
	uint32_t pid;
	uint32_t own_pid; /* pid in the process's own namespace */
	uint32_t user;
	int fd; /* the jitdump, or the folder of the perf map; AT_FDCWD: the recorder's own folder */
	bool jitdump;
	bool gone;     /* the process had ended before the recorder opened its folder, so the folder may be another */
	char name[64]; /* name of the jitdump */
};

struct record_jit_files {
	struct elf_image_sink sink;
	struct noted *list;
	size_t count, capacity;
	size_t open;
	struct timespec started;
	uint64_t unread;
};

int record_jit_files_new(const struct elf_image_sink *sink, struct record_jit_files **files)
{
	*files = calloc(1, sizeof(**files));
	if (!*files)
		return common_fail_memory("files of compilers", sizeof(**files));
	(*files)->sink = *sink;
	clock_gettime(CLOCK_REALTIME_COARSE, &(*files)->started);
	return 0;
}

void record_jit_files_free(struct record_jit_files *files)
{
	if (!files)
		return;
	for (size_t i = 0; i < files->count; i++)
		if (files->list[i].fd >= 0)
			close(files->list[i].fd);
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
	struct stat own, other;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/root" FOLDER, pid);
	*fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (*fd < 0 || fstat(*fd, &other) < 0)
		return false;
	if (stat(FOLDER, &own) == 0 && own.st_dev == other.st_dev && own.st_ino == other.st_ino) {
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
	return 0;
}

static int note_process(struct record_jit_files *files, uint32_t pid)
{
	struct noted noted = {.pid = pid, .fd = AT_FDCWD};

	for (size_t i = 0; i < files->count; i++)
		if (files->list[i].pid == pid && !files->list[i].jitdump)
			return 0;
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
	/* Kernel code such as "[vdso]" has a name without a file. */
	const bool of_kernel = mapping->path_length > 1 && mapping->path[0] == '[' && mapping->path[1] == 'v';

	if (files->count == FILES_MAX || of_kernel)
		return 0;
	if (elf_is_jitdump_name(mapping->path, mapping->path_length))
		return note_jitdump(files, mapping);
	return mapping->anonymous || mapping->deleted || !mapping->inode ? note_process(files, mapping->pid) : 0;
}

/* ---- at the end ---------------------------------------------------------------------------------- */

static int put_jitdump(const struct record_jit_files *files, const struct noted *noted)
{
	const struct elf_symbol_source source = {.fd = noted->fd};

	return elf_is_jitdump(&source) ? elf_jit_attach(&files->sink, noted->fd, noted->pid, noted->name) : 0;
}

/*
 * Checks whether to read a perf map. The map of a process that ended before its first report counts only if written
 * during the recording: an older map belongs to another process.
 */
static bool is_to_be_read(const struct record_jit_files *files, const struct noted *noted)
{
	char path[64];
	struct stat info;

	if (!noted->gone)
		return true;
	snprintf(path, sizeof(path), FOLDER "/perf-%u.map", noted->own_pid);
	return lstat(path, &info) == 0 &&
	       (info.st_mtim.tv_sec > files->started.tv_sec ||
		(info.st_mtim.tv_sec == files->started.tv_sec && info.st_mtim.tv_nsec >= files->started.tv_nsec));
}

uint64_t record_jit_files_unread(const struct record_jit_files *files)
{
	return files->unread;
}

int record_jit_files_put(struct record_jit_files *files)
{
	int status = 0;

	for (size_t i = 0; !status && i < files->count; i++) {
		const struct noted *noted = &files->list[i];

		if (noted->jitdump)
			status = put_jitdump(files, noted);
		else if (is_to_be_read(files, noted))
			status = elf_jit_attach_map(&files->sink, noted->fd, noted->own_pid, noted->user, noted->pid);
	}
	return status;
}
