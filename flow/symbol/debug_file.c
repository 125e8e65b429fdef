/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the DWARF of an ELF file for as long as tables are made of it: libdw is not for several threads. */
#include "flow/symbol/debug_file.h"

#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/debug_search.h"

#define SHARED_MAX ((size_t)1 << 30) /* bytes of a file that debug files share, in the trace */

void flow_debug_free(struct flow_debug *debug)
{
	if (!debug)
		return;
	flow_lines_free(debug->lines);
	flow_scopes_free(debug->scopes);
	free(debug->missing);
	free(debug);
}

struct flow_debug *flow_debug_of_lines(const struct elf_line *lines, size_t count)
{
	struct flow_debug *debug = calloc(1, sizeof(*debug));

	if (debug)
		debug->lines = flow_lines_of(lines, count);
	if (debug && !debug->lines) {
		flow_debug_free(debug);
		return NULL;
	}
	return debug;
}

/* ---- the file that several debug files share ----------------------------------------------------- */

/* An ELF header and nothing else: a DWARF file without a unit. */
static const Elf64_Ehdr empty_file = {
	.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
	.e_type = ET_REL,
	.e_machine = EM_X86_64,
	.e_version = EV_CURRENT,
	.e_ehsize = sizeof(Elf64_Ehdr),
};

/* DWARF that lies in an ELF file of its own. */
struct shared {
	int fd;
	uint8_t *data; /* the file in memory; NULL: it is open on disk */
	Elf *elf;
	Dwarf *dwarf; /* NULL: there is none */
};

static void close_shared(struct shared *shared)
{
	if (shared->dwarf)
		dwarf_end(shared->dwarf);
	elf_end(shared->elf);
	if (shared->fd >= 0)
		close(shared->fd);
	free(shared->data);
}

static struct shared open_shared(int fd)
{
	struct shared shared = {.fd = fd};

	shared.elf = fd >= 0 ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
	shared.dwarf = shared.elf ? dwarf_begin_elf(shared.elf, DWARF_C_READ, NULL) : NULL;
	return shared;
}

/* Of the trace, if it has the build id that it is said to have. */
static struct shared open_attached(struct ptl_trace *trace, const void *id, size_t id_size)
{
	struct shared shared = {.fd = -1};
	const size_t count = trace ? ptl_attachment_count(trace) : 0;
	const void *own;
	size_t size;

	for (size_t i = 0; i < count && !shared.dwarf; i++) {
		const struct ptl_attachment *attachment = ptl_attachment_at(trace, i);

		if (attachment->kind != PTL_ATTACHMENT_SHARED || attachment->id_size != id_size ||
		    memcmp(attachment->id, id, id_size) != 0 ||
		    ptl_blob_read(trace, attachment->hash, SHARED_MAX, &shared.data, &size))
			continue;
		shared.elf = elf_memory((char *)shared.data, size);
		if (shared.elf && dwelf_elf_gnu_build_id(shared.elf, &own) == (ssize_t)id_size &&
		    memcmp(own, id, id_size) == 0)
			shared.dwarf = dwarf_begin_elf(shared.elf, DWARF_C_READ, NULL);
		/* One is enough: a trace may say the same of any number of files. */
		break;
	}
	return shared;
}

/*
 * Gives dwarf the file that its .gnu_debugaltlink names. libdw would look for it by itself, and open whatever has that name,
 * for as long as that takes: so there is always one, an empty one where the right one is not there, or refers to another.
 */
static void link_shared(struct ptl_trace *trace, Dwarf *dwarf, const char *path, struct shared *shared,
			struct shared *nothing, char **missing)
{
	const char *name = NULL;
	const void *id;
	const ssize_t size = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &id);

	*shared = *nothing = (struct shared){.fd = -1};
	if (size <= 0 || !name)
		return;
	nothing->elf = elf_memory((char *)&empty_file, sizeof(empty_file));
	nothing->dwarf = nothing->elf ? dwarf_begin_elf(nothing->elf, DWARF_C_READ, NULL) : NULL;
	*shared = open_attached(trace, id, (size_t)size);
	if (!shared->dwarf) {
		close_shared(shared);
		*shared = open_shared(elf_debug_search_shared(path, name, id, (size_t)size));
	}
	if (!shared->dwarf)
		*missing = strdup(name);
	dwarf_setalt(dwarf, shared->dwarf ? shared->dwarf : nothing->dwarf);
	if (shared->dwarf && nothing->dwarf)
		dwarf_setalt(shared->dwarf, nothing->dwarf);
}

/* ---- tables -------------------------------------------------------------------------------------- */

/* `split` and missing are for flow_scopes_make. */
static struct flow_debug *make_tables(Dwarf *dwarf, bool scopes, bool split, char **missing)
{
	struct flow_debug *debug = calloc(1, sizeof(*debug));

	if (debug)
		debug->lines = flow_lines_make(dwarf);
	if (debug && debug->lines && scopes)
		debug->scopes = flow_scopes_make(dwarf, split, missing);
	if (debug && !debug->lines) {
		flow_debug_free(debug);
		return NULL;
	}
	return debug;
}

/* path is where the file is; NULL: not known. */
static struct flow_debug *read_debug(struct ptl_trace *trace, Elf *elf, const char *path, bool scopes)
{
	Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	struct shared shared, nothing;
	struct flow_debug *debug;
	char *missing = NULL;

	if (!dwarf)
		return NULL;
	link_shared(trace, dwarf, path, &shared, &nothing, &missing);
	debug = make_tables(dwarf, scopes, path != NULL, &missing);
	dwarf_end(dwarf);
	close_shared(&shared);
	close_shared(&nothing);
	if (debug)
		debug->missing = missing;
	else
		free(missing);
	return debug;
}

struct flow_debug *flow_debug_from_memory(struct ptl_trace *trace, uint8_t *data, size_t size, bool scopes)
{
	struct flow_debug *debug = NULL;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_memory((char *)data, size);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		debug = read_debug(trace, elf, NULL, scopes);
	elf_end(elf);
	return debug;
}

/* Where an open file is; false where that is not known. */
static bool find_path(int fd, char path[PATH_MAX])
{
	char link[64];
	ssize_t size;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	size = readlink(link, path, PATH_MAX - 1);
	path[size > 0 ? size : 0] = 0;
	return size > 0 && path[0] == '/';
}

struct flow_debug *flow_debug_from_file(struct ptl_trace *trace, int fd, const uint8_t *build_id, size_t build_id_size,
					bool scopes)
{
	struct flow_debug *debug = NULL;
	char path[PATH_MAX];
	const void *id;
	Elf *elf;

	if (fd < 0)
		return NULL;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF &&
	    (!build_id_size ||
	     (dwelf_elf_gnu_build_id(elf, &id) == (ssize_t)build_id_size && memcmp(id, build_id, build_id_size) == 0)))
		debug = read_debug(trace, elf, find_path(fd, path) ? path : NULL, scopes);
	elf_end(elf);
	close(fd);
	return debug;
}
