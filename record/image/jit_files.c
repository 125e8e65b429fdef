/* SPDX-License-Identifier: BSD-2-Clause */
/* Remembers which processes make code, and reads the files of their compilers at the end. */
#include "record/image/jit_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/vector.h"
#include "elf/jit_attach.h"
#include "elf/jitdump.h"
#include "record/image/mapped_file.h"
#include "record/model/proc_files.h"

#define FOLDER "/tmp"       /* where perf looks for maps, in the mount namespace of the process */
#define FILES_MAX 4096u     /* processes and jitdumps: more are not remembered */
#define OPEN_MAX_COUNT 256u /* descriptors that are kept for them */

/* A process that makes code, or a jitdump. */
struct noted {
	uint32_t pid;
	uint32_t own_pid; /* as the process knows itself */
	uint32_t user;
	int fd; /* the jitdump; or the folder with the perf map, AT_FDCWD: this program's own one */
	bool jitdump;
	char name[64]; /* of the jitdump */
};

struct record_jit_files {
	struct elf_image_sink sink;
	struct noted *list;
	size_t count, capacity;
	size_t open;
};

int record_jit_files_new(const struct elf_image_sink *sink, struct record_jit_files **files)
{
	*files = calloc(1, sizeof(**files));
	if (!*files)
		return common_fail_memory("files of compilers", sizeof(**files));
	(*files)->sink = *sink;
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

/* The folder of the process; AT_FDCWD where it is this program's own, too. False: it cannot be opened. */
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

static int add(struct record_jit_files *files, const struct noted *noted)
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
	if (!record_proc_identity(pid, &noted.own_pid, &noted.user) || !open_folder(files, pid, &noted.fd))
		return 0;
	return add(files, &noted);
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
	return add(files, &noted);
}

int record_jit_files_note(struct record_jit_files *files, const struct record_mapping *mapping)
{
	/* The kernel's own code, as "[vdso]", has a name and no file. */
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

int record_jit_files_put(struct record_jit_files *files)
{
	int status = 0;

	for (size_t i = 0; !status && i < files->count; i++) {
		const struct noted *noted = &files->list[i];

		status = noted->jitdump
				 ? put_jitdump(files, noted)
				 : elf_jit_attach_map(&files->sink, noted->fd, noted->own_pid, noted->user, noted->pid);
	}
	return status;
}
