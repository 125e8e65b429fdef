/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads source files on first use. */
#include "dump/print/source_text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"
#include "common/plural.h"
#include "common/program/message.h"
#include "common/vector.h"
#include "dump/run/source_map.h"

#define SECOND 1000000000            /* nanoseconds */
#define SOURCE_MAX ((off_t)16 << 20) /* bytes */

struct dump_source_file {
	uint8_t *data; /* NULL: unreadable */
	size_t size;
	size_t *lines; /* start offset of each line */
	size_t line_count;
};

static const char *permitted; /* NULL: every folder */

void dump_source_texts_within(const char *folder)
{
	permitted = folder;
}

static bool is_permitted(const char *path)
{
	char *real = permitted ? realpath(path, NULL) : NULL, *folder = permitted ? realpath(permitted, NULL) : NULL;
	const size_t size = folder ? strlen(folder) : 0;
	const bool within = real && folder && strncmp(real, folder, size) == 0 &&
			    (real[size] == '/' || (size && folder[size - 1] == '/'));

	free(real);
	free(folder);
	return !permitted || within;
}

void dump_source_texts_free(struct dump_source_texts *texts)
{
	for (size_t i = 0; i < texts->count; i++) {
		free(texts->files[i].data);
		free(texts->files[i].lines);
	}
	free(texts->files);
	common_byte_map_free(&texts->numbers);
	common_byte_map_free(&texts->in_trace);
	free(texts->a_newer);
	*texts = (struct dump_source_texts){0};
}

static void find_lines(struct dump_source_file *file)
{
	for (size_t at = 0; at < file->size;) {
		const uint8_t *end = memchr(file->data + at, '\n', file->size - at);

		if (!common_vector_room(&file->lines, file->line_count, sizeof(*file->lines)))
			return;
		file->lines[file->line_count++] = at;
		at = end ? (size_t)(end - file->data) + 1 : file->size;
	}
}

/* Reads a file of this machine. *newer: the file was modified after `recorded`. Returns false for an unreadable file. */
static bool read_source(struct dump_source_file *file, const char *path, int64_t recorded, bool *newer)
{
	struct stat info;
	const int fd = is_permitted(path) ? common_open_regular(path, &info) : -1;

	if (fd < 0)
		return false;
	free(file->data);
	file->data = info.st_size > 0 && info.st_size <= SOURCE_MAX ? malloc((size_t)info.st_size) : NULL;
	if (file->data && common_read_at(fd, file->data, (size_t)info.st_size, 0) == 0)
		file->size = (size_t)info.st_size;
	close(fd);
	*newer = recorded && file->size &&
		 (info.st_mtim.tv_sec > recorded / SECOND ||
		  (info.st_mtim.tv_sec == recorded / SECOND && info.st_mtim.tv_nsec > recorded % SECOND));
	return file->size != 0;
}

static bool read_mapped(struct dump_source_file *file, const char *path, int64_t recorded, bool *newer)
{
	struct ptl_bytes mapped = {0};
	const bool found = dump_source_map_apply(path, &mapped) &&
			   read_source(file, (const char *)mapped.data, recorded, newer);

	common_bytes_free(&mapped);
	return found;
}

/* Reads the content in the trace. If the trace has several contents of this path, the first content counts. */
static bool read_attached(struct dump_source_texts *texts, struct dump_source_file *file, const char *path)
{
	const uint64_t *known = common_byte_map_get(&texts->in_trace, path, strlen(path));

	if (!known)
		return false;
	texts->ambiguous += *known & 1;
	free(file->data);
	file->data = NULL;
	return ptl_blob_read(texts->trace, ptl_attachment_at(texts->trace, (size_t)(*known >> 1))->hash, SOURCE_MAX,
			     &file->data, &file->size) == 0 &&
	       file->size;
}

/* Without memory, a file in the trace is not found. */
static void note_attached(struct dump_source_texts *texts, size_t i)
{
	const struct ptl_attachment *attachment = ptl_attachment_at(texts->trace, i);
	const size_t size = strlen(attachment->name);
	uint64_t *known;

	if (attachment->kind != PTL_ATTACHMENT_SOURCE)
		return;
	known = common_byte_map_get(&texts->in_trace, attachment->name, size);
	if (!known)
		(void)common_byte_map_put(&texts->in_trace, attachment->name, size, (uint64_t)i << 1);
	else if (memcmp(ptl_attachment_at(texts->trace, (size_t)(*known >> 1))->hash, attachment->hash,
			PTL_HASH_SIZE) != 0)
		*known |= 1;
}

void dump_source_texts_start(struct dump_source_texts *texts, const struct dump_run *run)
{
	texts->trace = run->trace;
	texts->recorded = run->trace ? ptl_trace_machine(run->trace)->wall_start : 0;
	for (size_t i = 0; run->trace && i < ptl_attachment_count(run->trace); i++)
		note_attached(texts, i);
}

void dump_source_texts_warn(const struct dump_source_texts *texts)
{
	if (texts->newer == 1)
		common_message_warning("%s is newer than the trace: its lines may not be those that ran",
				       texts->a_newer);
	else if (texts->newer)
		common_message_warning(
			"%s and %zu more source " COMMON_PLURAL(
				"file", "files") " are newer than the trace: their lines may not be those that ran",
			texts->a_newer, texts->newer - 1);
	if (texts->ambiguous)
		common_message_warning(
			"the trace has several contents of %zu source file%s, as a merged trace may have: the "
			"first content is shown",
			texts->ambiguous, texts->ambiguous == 1 ? "" : "s");
}

/* Finds or reads a file. Returns NULL without memory. */
static const struct dump_source_file *find_file(struct dump_source_texts *texts, const char *path)
{
	const uint64_t *known = common_byte_map_get(&texts->numbers, path, strlen(path));
	struct dump_source_file *file;
	bool newer = false;

	if (known)
		return &texts->files[*known];
	if (!common_vector_room(&texts->files, texts->count, sizeof(*texts->files)) ||
	    common_byte_map_put(&texts->numbers, path, strlen(path), texts->count) < 0)
		return NULL;
	file = &texts->files[texts->count++];
	*file = (struct dump_source_file){0};
	if (!read_mapped(file, path, texts->recorded, &newer) && !read_attached(texts, file, path) && *path == '/')
		(void)read_source(file, path, texts->recorded, &newer);
	find_lines(file);
	if (newer) {
		texts->newer++;
		if (!texts->a_newer)
			texts->a_newer = strdup(path);
	}
	return file;
}

bool dump_source_line(struct dump_source_texts *texts, const char *path, uint32_t line, const char **words,
		      size_t *size)
{
	const struct dump_source_file *file = find_file(texts, path);
	size_t end;

	if (!file || !line || line > file->line_count)
		return false;
	end = line < file->line_count ? file->lines[line] : file->size;
	*words = (const char *)file->data + file->lines[line - 1];
	*size = end - file->lines[line - 1];
	while (*size && ((*words)[*size - 1] == '\n' || (*words)[*size - 1] == '\r'))
		--*size;
	return true;
}
