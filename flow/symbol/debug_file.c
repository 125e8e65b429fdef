/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the DWARF of an ELF file while tables are made from the DWARF. */
#include "flow/symbol/debug_file.h"

#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/hash_map.h"
#include "elf/debug_search.h"
#include "elf/dwarf_open.h"
#include "elf/split_search.h"
#include "flow/symbol/dwarf_section.h"

#define SHARED_MAX ((size_t)1 << 30) /* maximum bytes of an attached file that debug files share */

/* ---- the file shared by several debug files ------------------------------------------------------- */

/* DWARF in a separate ELF file. */
struct shared {
	int fd;
	uint8_t *data; /* file in memory; NULL: the file is open on disk */
	Elf *elf;
	Dwarf *dwarf; /* NULL: no DWARF */
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
	shared.dwarf = shared.elf ? elf_dwarf_open(shared.elf) : NULL;
	return shared;
}

/* Opens the shared file attached to the trace, if the file's build id is id. */
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
			shared.dwarf = elf_dwarf_open(shared.elf);
		/* Only the first attachment is tried: a trace may attach any number of files with one id. */
		break;
	}
	return shared;
}

/*
 * Links dwarf to the file named in its .gnu_debugaltlink. Otherwise libdw itself would search for the file, and open
 * any file of this name, however long that takes. So a file is always linked: an empty file if the correct file is
 * missing, or if the shared file itself refers to a file.
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
	nothing->elf = elf_open_empty();
	nothing->dwarf = nothing->elf ? elf_dwarf_open(nothing->elf) : NULL;
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

/* ---- .dwo files ---------------------------------------------------------------------------------- */

struct split_files {
	struct ptl_trace *trace; /* NULL: no trace */
	bool listed;
	struct common_hash_map attached; /* attached files, by id */
	const char *path, *image;        /* paths for the search on this machine */
	struct elf_split_search *search; /* NULL: not needed yet */
};

/* Lists the attached .dwo files by id. If several files have one id, the first file counts. */
static void list_attached(struct split_files *files)
{
	const size_t count = files->trace ? ptl_attachment_count(files->trace) : 0;

	files->listed = true;
	for (size_t i = 0; i < count; i++) {
		const struct ptl_attachment *attachment = ptl_attachment_at(files->trace, i);
		uint64_t id;

		if (attachment->kind != PTL_ATTACHMENT_SPLIT || attachment->id_size != sizeof(id))
			continue;
		id = common_load64(attachment->id);
		if (!common_hash_map_get(&files->attached, id) && common_hash_map_put(&files->attached, id, i) < 0)
			return;
	}
}

static bool read_split(void *context, const struct elf_split_unit *split, uint8_t **data, size_t *size)
{
	struct split_files *files = context;
	const uint64_t *known;

	if (!files->listed)
		list_attached(files);
	known = common_hash_map_get(&files->attached, split->id);
	if (known &&
	    ptl_blob_read(files->trace, ptl_attachment_at(files->trace, *known)->hash, ELF_SPLIT_MAX, data, size) == 0)
		return true;
	if (!files->search && elf_split_search_new(files->path, files->image, &files->search))
		return false;
	return elf_split_read(files->search, split, data, size);
}

/* ---- tables -------------------------------------------------------------------------------------- */

/* Path of a file on disk, and path at the time of its mapping; NULL: unknown. */
struct place {
	const char *path, *image;
};

static struct flow_scope_table *make_scopes(struct ptl_trace *trace, Dwarf *dwarf, const struct place *place,
					    char **missing)
{
	struct split_files files = {.trace = trace, .path = place->path, .image = place->image};
	struct flow_split_source source = {.context = &files, .read = read_split};
	struct flow_scope_table *scopes = flow_scopes_make(dwarf, &source);

	if (*missing)
		free(source.missing);
	else
		*missing = source.missing;
	common_hash_map_free(&files.attached);
	elf_split_search_free(files.search);
	return scopes;
}

/* An open file and the files to which it refers. */
struct flow_debug_open {
	int fd;
	uint8_t *data; /* file in memory; NULL: the file is open on disk */
	Elf *elf;
	Dwarf *dwarf; /* NULL: not needed, or no DWARF */
	struct shared shared, nothing;
};

static void close_all(struct flow_debug_open *open)
{
	if (!open)
		return;
	dwarf_end(open->dwarf);
	close_shared(&open->shared);
	close_shared(&open->nothing);
	elf_end(open->elf);
	if (open->fd >= 0)
		close(open->fd);
	free(open->data);
	free(open);
}

void flow_debug_free(struct flow_debug *debug)
{
	if (!debug)
		return;
	flow_lines_free(debug->lines);
	flow_scopes_free(debug->scopes);
	close_all(debug->open);
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

/* Reads the parts that need libdw, which unpacks all sections. */
static void read_entries(struct flow_debug *debug, struct ptl_trace *trace, const struct place *place, bool scopes)
{
	struct flow_debug_open *const open = debug->open;

	link_shared(trace, open->dwarf, place->path, &open->shared, &open->nothing, &debug->missing);
	if (flow_lines_need_folders(debug->lines))
		flow_lines_take_folders(debug->lines, open->dwarf);
	if (scopes)
		debug->scopes = make_scopes(trace, open->dwarf, place, &debug->missing);
}

static void read_debug(struct flow_debug *debug, struct ptl_trace *trace, const struct place *place, bool scopes)
{
	struct flow_debug_open *const open = debug->open;

	/* Only libdw unpacks sections with old names. */
	if (flow_dwarf_has_section(open->elf, "zdebug_line"))
		open->dwarf = elf_dwarf_open(open->elf);
	debug->lines = flow_lines_make(open->elf);
	if (debug->lines && !open->dwarf &&
	    (scopes || flow_lines_need_folders(debug->lines) || flow_dwarf_has_section(open->elf, "gnu_debugaltlink")))
		open->dwarf = elf_dwarf_open(open->elf);
	if (debug->lines && open->dwarf)
		read_entries(debug, trace, place, scopes);
}

/* Closes the file descriptor, and keeps the file mapped: a trace may have more files than a process can open. */
static void let_go(Elf *elf, int *fd)
{
	if (!elf || *fd < 0 || elf_cntl(elf, ELF_C_FDREAD) != 0)
		return;
	close(*fd);
	*fd = -1;
}

/* Opens debug information. Takes ownership of data and fd. */
static struct flow_debug *open_debug(struct ptl_trace *trace, uint8_t *data, size_t size, int fd,
				     const struct place *place, bool scopes)
{
	struct flow_debug *debug = calloc(1, sizeof(*debug));
	struct flow_debug_open *const open = calloc(1, sizeof(*open));

	if (!debug || !open) {
		free(debug);
		free(open);
		free(data);
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	*open = (struct flow_debug_open){.fd = fd, .data = data, .shared = {.fd = -1}, .nothing = {.fd = -1}};
	debug->open = open;
	elf_version(EV_CURRENT);
	open->elf = data ? elf_memory((char *)data, size) : elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (open->elf && elf_kind(open->elf) == ELF_K_ELF)
		read_debug(debug, trace, place, scopes);
	if (!debug->lines) {
		flow_debug_free(debug);
		return NULL;
	}
	if (debug->scopes && flow_scopes_keep_dwarf(debug->scopes)) {
		let_go(open->elf, &open->fd);
		let_go(open->shared.elf, &open->shared.fd);
	} else {
		close_all(open);
		debug->open = NULL;
	}
	return debug;
}

struct flow_debug *flow_debug_from_memory(struct ptl_trace *trace, uint8_t *data, size_t size, const char *image,
					  bool scopes)
{
	const struct place place = {.image = image};

	return open_debug(trace, data, size, -1, &place, scopes);
}

struct flow_debug *flow_debug_from_file(struct ptl_trace *trace, int fd, const char *image, bool scopes)
{
	struct place place = {.image = image};
	char path[PATH_MAX];

	if (fd < 0)
		return NULL;
	if (elf_debug_place(fd, path))
		place.path = path;
	return open_debug(trace, NULL, 0, fd, &place, scopes);
}
