/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes source files of a trace to the temporary folder, where gdb searches its sources. */
#include "dump/gdb/source_files.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"
#include "common/plural.h"
#include "common/program/message.h"
#include "dump/gdb/folder.h"
#include "flow/symbol/source_store.h"

#define NAME_COST 128 /* counted bytes for each character of a name */

/*
 * Whether a path stays below the folder of sources, which has no links. Line tables of a build in a folder of its own name
 * files such as "/build/../src/a.c".
 */
static bool is_inside(const char *path)
{
	const size_t size = strlen(path);
	int depth = 0;

	if (*path != '/' || size >= PTL_PATH_MAX)
		return false;
	for (const char *part = path; part; part = strchr(part + 1, '/')) {
		const size_t length = strcspn(part + 1, "/");
		const bool is_up = length == 2 && part[1] == '.' && part[2] == '.';
		const bool is_here = !length || (length == 1 && part[1] == '.');

		depth += is_up ? -1 : !is_here;
		if (depth < 0 || ((is_up || is_here) && !part[1 + length]))
			return false;
	}
	return true;
}

/* Writes a new file. Returns false if the file exists or cannot be written. */
static bool write_source(const char *path, const uint8_t *data, size_t size)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	const bool written = fd >= 0 && common_write_all(fd, data, size) == 0;

	if (fd >= 0)
		close(fd);
	return written;
}

int dump_gdb_sources_write(const char *folder, struct ptl_trace *trace, size_t *written)
{
	uint64_t left = FLOW_SOURCE_MAX, cut = 0, cost;

	for (size_t i = 0; i < ptl_attachment_count(trace); i++) {
		const struct ptl_attachment *attachment = ptl_attachment_at(trace, i);
		const struct ptl_blob_info *blob = ptl_blob_find(trace, attachment->hash);
		uint8_t *data = NULL;
		size_t size = 0;
		char *path;

		if (attachment->kind != PTL_ATTACHMENT_SOURCE || !is_inside(attachment->name))
			continue;
		/* A hostile trace may give any number of names to one content. Each folder of a name takes space. */
		cost = (blob ? blob->size : 0) + NAME_COST * strlen(attachment->name);
		if (cost > left || (blob && blob->size > FLOW_SOURCE_FILE_MAX)) {
			cut++;
			continue;
		}
		left -= cost;
		if (ptl_blob_read(trace, attachment->hash, (size_t)FLOW_SOURCE_FILE_MAX, &data, &size) < 0)
			continue;
		path = dump_gdb_folder_entry(folder, "/source", attachment->name);
		if (path)
			*written += write_source(path, data, size);
		free(path);
		free(data);
	}
	if (cut)
		common_message_note(
			"gdb has no text of %llu source " COMMON_PLURAL("file of the trace, which is",
									"files of the trace, which are") " too large",
			(unsigned long long)cut);
	return 0;
}
