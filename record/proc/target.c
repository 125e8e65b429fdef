/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the program that execve would run, by the kernel's rules for scripts and formats. */

#include "record/proc/target.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/*
 * Rules of the kernel: the line ends at a newline or the file's end. Surrounding blanks are ignored. The first word is
 * the interpreter; the rest is a single argument with blanks. A longer line than the head is cut, but never within the
 * interpreter.
 */
int record_shebang_parse(char *head, struct record_shebang *shebang)
{
	char *limit = head + RECORD_HEAD_SIZE - 1;
	char *start = head + 2;
	char *end = memchr(start, '\n', (size_t)(limit + 1 - start));
	bool cut = false;

	if (!end) {
		end = memchr(start, 0, (size_t)(limit + 1 - start));
		cut = !end;
		if (cut)
			end = limit;
	}
	while (start < end && is_blank(*start))
		start++;
	while (end > start && is_blank(end[-1]))
		end--;
	if (start == end)
		return -ENOEXEC;

	char *space = start;

	while (space < end && !is_blank(*space) && *space)
		space++;
	if (cut && space == end)
		return -ENOEXEC;
	*end = 0;
	shebang->interpreter = start;
	shebang->argument = NULL;
	if (space < end) {
		*space++ = 0;
		while (space < end && is_blank(*space))
			space++;
		if (space < end && *space)
			shebang->argument = space;
	}
	return 0;
}

/* Checks permissions as execve does before reading the file. */
static int check_permission(const char *path)
{
	struct stat status;
	struct statvfs volume;

	if (stat(path, &status))
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EACCES;
	if (faccessat(AT_FDCWD, path, X_OK, AT_EACCESS))
		return -errno;
	if (!statvfs(path, &volume) && volume.f_flag & ST_NOEXEC)
		return -EACCES;
	return 0;
}

static bool is_program(const Elf64_Ehdr *header)
{
	return header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB &&
	       header->e_machine == EM_X86_64 && (header->e_type == ET_EXEC || header->e_type == ET_DYN) &&
	       header->e_phentsize == sizeof(Elf64_Phdr);
}

/*
 * Finds the segment with the path of the ELF interpreter. Returns 1 with *segment set; 0 without an interpreter; or
 * -ENOEXEC.
 */
static int find_interpreter(int fd, const Elf64_Ehdr *header, Elf64_Phdr *segment)
{
	for (unsigned i = 0; i < header->e_phnum; i++) {
		if (pread(fd, segment, sizeof(*segment), (off_t)(header->e_phoff + i * sizeof(*segment))) !=
		    sizeof(*segment))
			return -ENOEXEC;
		if (segment->p_type == PT_INTERP)
			return 1;
	}
	return 0;
}

/* execve fails without the program's ELF interpreter. */
static int check_interpreter(int fd, const Elf64_Ehdr *header)
{
	char path[RECORD_PATH_SIZE];
	Elf64_Phdr segment;
	const int found = find_interpreter(fd, header, &segment);

	if (found <= 0)
		return found;
	if (segment.p_filesz < 2 || segment.p_filesz > sizeof(path) ||
	    pread(fd, path, segment.p_filesz, (off_t)segment.p_offset) != (ssize_t)segment.p_filesz ||
	    path[segment.p_filesz - 1])
		return -ENOEXEC;
	return check_permission(path);
}

bool record_target_is_static(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	bool is;

	if (fd < 0)
		return false;
	is = pread(fd, &header, sizeof(header), 0) == sizeof(header) && !memcmp(header.e_ident, ELFMAG, SELFMAG) &&
	     is_program(&header) && find_interpreter(fd, &header, &segment) == 0;
	close(fd);
	return is;
}

/* Only binfmt_misc may run other formats. */
static int other_format(void)
{
	return access("/proc/sys/fs/binfmt_misc/status", F_OK) ? -ENOEXEC : RECORD_TARGET_FORMAT;
}

/* Reads the file's head, and checks that an ELF file is an x86-64 program. Returns 0, or as record_target_find(). */
static int read_head(const char *path, char *head)
{
	int status = check_permission(path);
	int fd;

	if (status)
		return status;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == EACCES ? RECORD_TARGET_UNREADABLE : -errno;
	memset(head, 0, RECORD_HEAD_SIZE);
	if (pread(fd, head, RECORD_HEAD_SIZE, 0) < 2)
		status = -ENOEXEC;
	else if (!memcmp(head, ELFMAG, SELFMAG)) {
		Elf64_Ehdr header;

		memcpy(&header, head, sizeof(header));
		status = is_program(&header) ? check_interpreter(fd, &header) : RECORD_TARGET_FORMAT;
	} else if (head[0] != '#' || head[1] != '!') {
		status = other_format();
	}
	close(fd);
	return status;
}

/* Prepends the interpreter, its argument and the script's path. Drops the script's argv[0]. */
static int add_prefix(struct record_target *target, const struct record_shebang *shebang, const char *script)
{
	const char *added[] = {shebang->interpreter, shebang->argument ? shebang->argument : script,
			       shebang->argument ? script : NULL};
	size_t count = shebang->argument ? 3 : 2;
	/* An interpreter that is itself a script replaces argv[0] of the previous script. */
	size_t dropped = target->prefix_count ? 1 : 0;

	if (dropped)
		free(target->prefix[0]);
	memmove(target->prefix + count, target->prefix + dropped,
		(target->prefix_count - dropped) * sizeof(target->prefix[0]));
	target->prefix_count += count - dropped;
	for (size_t i = 0; i < count; i++) {
		target->prefix[i] = strdup(added[i]);
		if (!target->prefix[i]) {
			for (; i < count; i++)
				target->prefix[i] = NULL;
			return -ENOMEM;
		}
	}
	return 0;
}

int record_target_find(struct record_target *target, const char *file)
{
	char head[RECORD_HEAD_SIZE];
	int status = 0;

	memset(target, 0, sizeof(*target));
	if (strlen(file) >= sizeof(target->path))
		return -ENAMETOOLONG;
	strcpy(target->path, file);
	for (int scripts = 0; !status; scripts++) {
		struct record_shebang shebang;

		status = read_head(target->path, head);
		if (status || head[0] != '#')
			break;
		if (scripts == RECORD_SCRIPTS_MAX)
			status = -ELOOP;
		else
			status = record_shebang_parse(head, &shebang);
		if (status)
			break;
		if (!scripts)
			strcpy(target->script, target->path);
		status = add_prefix(target, &shebang, target->path);
		if (!status)
			strcpy(target->path, shebang.interpreter);
	}
	if (status)
		record_target_free(target);
	return status;
}

void record_target_free(struct record_target *target)
{
	for (size_t i = 0; i < target->prefix_count; i++)
		free(target->prefix[i]);
	target->prefix_count = 0;
}
