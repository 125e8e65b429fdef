/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds or makes the file of each image, and lists the files as program and libraries. */
#include "dump/gdb/symbol_files.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"
#include "common/text/text.h"
#include "common/vector.h"
#include "dump/export/perf/perf_cache.h"
#include "dump/gdb/folder.h"
#include "dump/gdb/source_files.h"
#include "elf/debug_search.h"
#include "flow/symbol/symbol.h"

#define DEBUG_MAX ((size_t)4 << 30)
#define SEGMENTS_MAX 256u /* program headers that are read of a file */

struct maker {
	struct dump_gdb_files *files;
	const struct dump_gdb_process *process;
	struct flow_symbols *symbols;
	struct dump_perf_cache cache;
};

/* ---- the folder ---------------------------------------------------------------------------------- */

void dump_gdb_files_remove(struct dump_gdb_files *files)
{
	dump_gdb_folder_remove(files->folder);
	free(files->libraries);
	common_arena_free(&files->texts);
}

/* A path of a trace may name any file: only plain paths may be entries of the folder. */
static bool is_plain_path(const char *path)
{
	const size_t size = strlen(path);

	return *path == '/' && size < PTL_PATH_MAX && !strstr(path, "//") && !strstr(path, "/../") &&
	       !strstr(path, "/./") && path[size - 1] != '/' && (size < 3 || strcmp(path + size - 3, "/..") != 0);
}

/* Makes a symbolic link to the file at FOLDER/PART/PATH. An existing entry stays. */
static void folder_link(const struct dump_gdb_files *files, const char *part, const char *path, const char *file)
{
	char *entry = dump_gdb_folder_entry(files->folder, part, path);

	/* Without the link, gdb shows addresses without names. */
	if (entry && symlink(file, entry) < 0 && errno == ENOMEM)
		common_fail_errno("cannot make %s", entry);
	free(entry);
}

/* Programs name the dynamic linker by this link to its file. */
static void folder_link_linker(const struct dump_gdb_files *files, const struct dump_gdb_library *library)
{
	if (strcmp(common_base_name(library->path), "ld-linux-x86-64.so.2") == 0)
		folder_link(files, "/root", "/lib64/ld-linux-x86-64.so.2", library->file);
}

/* ---- images -------------------------------------------------------------------------------------- */

/* "/[vdso]-7fff1000": names without a file get a path that no file has. */
static const char *image_path(struct maker *maker, const struct ptl_image_event *image)
{
	struct ptl_bytes text = {0};
	const char *path = image->file_name;

	if (!is_plain_path(path)) {
		common_text_add(&text, "/");
		common_text_safe(&text, common_base_name(path));
		common_text_format(&text, "-%" PRIx64, image->base);
		path = is_plain_path(common_text_string(&text)) ? common_text_string(&text) : "/image";
	}
	path = common_arena_copy(&maker->files->texts, path, strlen(path));
	common_bytes_free(&text);
	return path;
}

/* Returns the address of the dynamic section in memory; 0: the file has none. */
static uint64_t find_dynamic(const char *path, uint64_t bias)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t found = 0;
	Elf64_Ehdr head;
	Elf64_Phdr segment;

	if (fd < 0)
		return 0;
	if (pread(fd, &head, sizeof(head), 0) == sizeof(head) && head.e_ident[EI_CLASS] == ELFCLASS64)
		for (unsigned i = 0; !found && i < head.e_phnum && i < SEGMENTS_MAX; i++)
			if (pread(fd, &segment, sizeof(segment), (off_t)(head.e_phoff + i * sizeof(segment))) ==
				    sizeof(segment) &&
			    segment.p_type == PT_DYNAMIC)
				found = segment.p_vaddr + bias;
	close(fd);
	return found;
}

static bool is_on_disk(const struct ptl_image_event *image, bool *has_debug)
{
	struct elf_file *elf = NULL;
	const int fd = image->build_id_size && *image->file_name == '/'
			       ? elf_open_same(image->file_name, image->build_id, image->build_id_size, &elf)
			       : -1;

	*has_debug = elf && elf_has_debug(elf);
	elf_close(elf);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* The file that dump_perf_cache_write makes. */
static const char *made_file(struct maker *maker, const struct ptl_image_event *image)
{
	uint8_t build_id[DUMP_PERF_BUILD_ID];
	struct ptl_bytes text = {0};
	const char *path;

	dump_perf_build_id(image, build_id);
	common_text_add(&text, maker->files->folder);
	common_text_add(&text, "/.build-id/");
	common_text_hex_bytes(&text, build_id, 1);
	common_text_add(&text, "/");
	common_text_hex_bytes(&text, build_id + 1, DUMP_PERF_BUILD_ID - 1);
	path = common_arena_copy(&maker->files->texts, common_text_string(&text), text.size);
	common_bytes_free(&text);
	return path;
}

/* ---- debug information --------------------------------------------------------------------------- */

static const uint8_t *debug_blob(struct ptl_trace *trace, const struct ptl_image_event *image)
{
	if (image->has_debug)
		return image->debug;
	for (size_t i = 0; image->build_id_size && i < ptl_attachment_count(trace); i++) {
		const struct ptl_attachment *attachment = ptl_attachment_at(trace, i);

		if (attachment->kind == PTL_ATTACHMENT_DEBUG && attachment->id_size == image->build_id_size &&
		    memcmp(attachment->id, image->build_id, attachment->id_size) == 0)
			return attachment->hash;
	}
	return NULL;
}

/*
 * Writes the debug information of the trace to a file. gdb takes such a file for the image itself: the file has all
 * sections, and gdb reads code from the server. *path: the file; NULL: the trace has no sound debug information.
 */
static int write_debug(struct maker *maker, const struct ptl_image_event *image, const char **path)
{
	struct ptl_trace *trace = maker->process->run->trace;
	const uint8_t *blob = debug_blob(trace, image);
	struct common_output_file output = {.fd = -1};
	struct elf_file *elf = NULL;
	struct ptl_bytes name = {0};
	uint8_t *data;
	size_t size;
	int status = 0;

	*path = NULL;
	if (!blob || ptl_blob_read(trace, blob, DEBUG_MAX, &data, &size) < 0)
		return 0;
	if (elf_open_memory(data, size, &elf) == 0 && elf_has_debug(elf)) {
		common_text_format(&name, "%s/", maker->files->folder);
		common_text_hex_bytes(&name, blob, PTL_HASH_SIZE);
		common_text_add(&name, ".debug");
		*path = common_arena_copy(&maker->files->texts, common_text_string(&name), name.size);
		status = *path ? common_output_open(&output, *path, true) : common_fail_memory("a path", name.size);
		if (status == 0)
			status = common_write_all(output.fd, data, size);
		if (status == 0)
			status = common_output_commit(&output);
		common_output_abandon(&output);
		common_bytes_free(&name);
	}
	elf_close(elf);
	free(data);
	return status;
}

/* Returns the path of the image's debug file on this machine; NULL: none. */
static const char *find_debug(struct maker *maker, const struct ptl_image_event *image)
{
	const struct elf_debug_wanted wanted = {.build_id = image->build_id,
						.build_id_size = image->build_id_size,
						.path = image->file_name,
						.lines = true};
	const int fd = image->build_id_size ? elf_debug_search(&wanted) : -1;
	const char *found = NULL;
	char path[PATH_MAX];

	if (fd < 0)
		return NULL;
	if (elf_debug_place(fd, path))
		found = common_arena_copy(&maker->files->texts, path, strlen(path));
	close(fd);
	return found;
}

/* Links the image's debug file to the name by which gdb finds debug files: debug/.build-id/ab/cdef.debug. */
static void link_debug(struct maker *maker, const struct ptl_image_event *image)
{
	const char *found = find_debug(maker, image);
	struct ptl_bytes text = {0};

	if (!found && (write_debug(maker, image, &found) < 0 || !found))
		return;
	common_text_add(&text, "/.build-id/");
	common_text_hex_bytes(&text, image->build_id, 1);
	common_text_add(&text, "/");
	common_text_hex_bytes(&text, image->build_id + 1, image->build_id_size - 1);
	common_text_add(&text, ".debug");
	folder_link(maker->files, "/debug", common_text_string(&text), found);
	common_bytes_free(&text);
}

static bool is_listed(const struct maker *maker, const char *path, uint64_t bias)
{
	for (size_t i = 0; i < maker->files->count; i++)
		if (maker->files->libraries[i].bias == bias && strcmp(maker->files->libraries[i].path, path) == 0)
			return true;
	return false;
}

/*
 * Adds the image to the made files: each mapping of a file is a segment. Memory of a JIT compiler has no build id, and
 * gets one from its address. *file is NULL without code and names.
 */
static int make_file(struct maker *maker, const struct ptl_image_event *image, const char **file)
{
	const struct ptl_symbol_table *table = flow_symbols_table(maker->symbols, image);
	struct ptl_image_event named = *image;

	*file = NULL;
	if (!image->has_code && (!table || !ptl_symbols_count(table)))
		return 0;
	if (!image->has_code && !image->build_id_size) {
		named.build_id_size = DUMP_PERF_BUILD_ID;
		memset(named.build_id, 0xff, DUMP_PERF_BUILD_ID);
		common_store_le(named.build_id, image->base, 8);
	}
	*file = made_file(maker, &named);
	return dump_perf_cache_add(&maker->cache, &named, table);
}

static int add_image(struct maker *maker, const struct ptl_image_event *image)
{
	struct dump_gdb_files *files = maker->files;
	struct dump_gdb_library library = {.path = image_path(maker, image), .bias = image->base - image->default_base};
	bool has_debug;
	int status = 0;

	if (!library.path)
		return common_fail_memory("a path", 0);
	if (is_on_disk(image, &has_debug)) {
		library.file = library.path;
		if (!has_debug)
			link_debug(maker, image);
	} else {
		status = write_debug(maker, image, &library.file);
	}
	if (status == 0 && !library.file)
		library.file = find_debug(maker, image);
	if (library.file)
		library.dynamic = find_dynamic(library.file, library.bias);
	if (status == 0 && !library.file)
		status = make_file(maker, image, &library.file);
	if (status == 0 && !library.file) {
		files->missing++;
		return 0;
	}
	if (status < 0 || is_listed(maker, library.path, library.bias))
		return status;
	if (!common_vector_room(&files->libraries, files->count, sizeof(library)))
		return common_fail_memory("libraries", files->count);
	files->libraries[files->count++] = library;
	return 0;
}

/* Adds the images that were mapped at the end of the window, and images unmapped before. */
static int add_images(struct maker *maker)
{
	const struct dump_gdb_process *process = maker->process;
	const struct flow_timeline_process *owner = flow_timeline_process(process->timeline, process->process);
	int status = 0;

	for (size_t i = owner->image_count; status == 0 && i > 0; i--) {
		const struct flow_timeline_image *image = flow_timeline_image(process->timeline, owner->images[i - 1]);

		if (image->end > process->program_time && image->start <= process->time && image->data.protection & 4)
			status = add_image(maker, &image->data);
	}
	return status;
}

/* ---- the model ----------------------------------------------------------------------------------- */

/* Moves the program out of the list of libraries. */
static void set_program(struct dump_gdb_files *files, struct dump_gdb_process *process)
{
	const struct flow_program *program = flow_timeline_program_at(process->timeline, process->process,
								      process->time);

	for (size_t i = 0; program && i < files->count; i++)
		if (strcmp(files->libraries[i].path, program->path) == 0) {
			process->model.program = files->libraries[i];
			files->libraries[i] = files->libraries[--files->count];
			break;
		}
	process->model.libraries = files->libraries;
	process->model.library_count = files->count;
}

int dump_gdb_files_make(struct dump_gdb_files *files, struct dump_gdb_process *process)
{
	struct dump_run *run = process->run;
	struct maker maker = {.files = files, .process = process};
	struct dump_perf_code code = {.trace = run->trace};
	uint64_t missing = 0;
	int status = dump_gdb_folder_make(&files->folder);

	code.outside_count = flow_timeline_outside(process->timeline, &code.outside);
	/* gdb itself demangles. */
	if (status == 0)
		status = flow_symbols_open(run->trace, process->timeline, false, &maker.symbols);
	if (status == 0)
		status = add_images(&maker);
	if (status == 0)
		status = dump_perf_cache_write(&maker.cache, &code, files->folder, &missing);
	for (size_t i = 0; status == 0 && i < files->count; i++) {
		folder_link(files, "/root", files->libraries[i].path, files->libraries[i].file);
		folder_link_linker(files, &files->libraries[i]);
	}
	dump_perf_cache_free(&maker.cache);
	flow_symbols_close(maker.symbols);
	if (status == 0)
		status = dump_gdb_sources_write(files->folder, run->trace, &files->sources);
	if (status == 0)
		set_program(files, process);
	return status;
}
