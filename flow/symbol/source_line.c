/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the debug information of an image, and makes line tables. */
#include "flow/symbol/source_line.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/error.h"
#include "elf/debug_search.h"
#include "flow/symbol/debug_file.h"
#include "flow/symbol/image_tables.h"
#include "flow/symbol/symbol.h"

#define DEBUG_MAX ((size_t)2 << 30) /* maximum bytes of an ELF file in the trace */

struct flow_sources {
	struct ptl_trace *trace;
	bool scopes;
	struct flow_image_tables tables; /* elements: struct flow_debug * */
	/* protected by the lock of `tables`: */
	const char *missing; /* first missing file; NULL: no file is missing */
	size_t missing_count;
};

static struct flow_debug *from_trace(struct ptl_trace *trace, const struct ptl_image_event *image, bool scopes)
{
	uint8_t *data;
	size_t size;

	if (ptl_blob_read(trace, image->debug, DEBUG_MAX, &data, &size) < 0)
		return NULL;
	return flow_debug_from_memory(trace, data, size, image->file_name, scopes);
}

/* Reads debug information from the mapped file on this machine, or from its debug file. */
static struct flow_debug *from_files(const struct flow_sources *sources, const struct ptl_image_event *image,
				     bool given)
{
	struct elf_debug_wanted wanted = {.build_id = image->build_id,
					  .build_id_size = image->build_id_size,
					  .path = image->file_name,
					  .lines = true,
					  .given = given};
	struct elf_file *elf = NULL;
	struct flow_debug *table = NULL;
	int fd = -1;

	if (!image->build_id_size)
		return NULL;
	if (image->file_name[0] == '/')
		fd = elf_open_same(image->file_name, image->build_id, image->build_id_size, &elf);
	wanted.file = elf;
	if (elf && !given && elf_has_debug(elf))
		table = flow_debug_from_file(sources->trace, dup(fd), image->file_name, sources->scopes);
	if (!table)
		table = flow_debug_from_file(sources->trace, elf_debug_search(&wanted), image->file_name,
					     sources->scopes);
	elf_close(elf);
	if (fd >= 0)
		close(fd);
	return table;
}

/* Makes a table. Folders of debug files come first, then the trace, then this machine. */
static void *make_table(void *context, const struct ptl_image_event *image, const struct ptl_image_event *reported,
			const struct flow_made_layer *made)
{
	struct flow_sources *sources = context;
	struct flow_debug *table = NULL;

	(void)reported;
	if (made)
		table = flow_debug_of_lines(made->lines, made->line_count);
	else if (elf_debug_path_given())
		table = from_files(sources, image, true);
	if (!table && image->has_debug)
		table = from_trace(sources->trace, image, sources->scopes);
	if (!table && !made)
		table = from_files(sources, image, false);
	if (table && table->missing) {
		if (!sources->missing)
			sources->missing = table->missing;
		sources->missing_count++;
	}
	return table;
}

static const uint8_t *blob_of(const struct ptl_image_event *image)
{
	return image->has_debug ? image->debug : NULL;
}

static void attach(struct ptl_image_event *image, const uint8_t *hash)
{
	image->has_debug = true;
	memcpy(image->debug, hash, sizeof(image->debug));
}

static void free_table(void *table)
{
	flow_debug_free(table);
}

/* ---- all images of a trace ------------------------------------------------------------------------ */

int flow_sources_open(struct ptl_trace *trace, const struct flow_timeline *timeline, struct flow_sources **result)
{
	static const struct flow_image_tables_kind kind = {.blob = blob_of,
							   .make = make_table,
							   .free = free_table,
							   .attachment = PTL_ATTACHMENT_DEBUG,
							   .attach = attach};
	struct flow_sources *sources = calloc(1, sizeof(*sources));

	if (!sources)
		return common_fail_memory("source lines", sizeof(*sources));
	sources->trace = trace;
	if (flow_image_tables_open(&sources->tables, &kind, sources, trace, timeline) < 0) {
		free(sources);
		return PTL_NO_MEMORY;
	}
	*result = sources;
	return 0;
}

void flow_sources_want_scopes(struct flow_sources *sources)
{
	sources->scopes = true;
}

void flow_sources_close(struct flow_sources *sources)
{
	if (!sources)
		return;
	flow_image_tables_close(&sources->tables);
	free(sources);
}

void flow_sources_counts(struct flow_sources *sources, size_t *requested, size_t *found)
{
	pthread_mutex_lock(&sources->tables.lock);
	*requested = sources->tables.requested;
	*found = sources->tables.found;
	pthread_mutex_unlock(&sources->tables.lock);
}

size_t flow_sources_missing(struct flow_sources *sources, const char **name)
{
	size_t count;

	pthread_mutex_lock(&sources->tables.lock);
	*name = sources->missing;
	count = sources->missing_count;
	pthread_mutex_unlock(&sources->tables.lock);
	return count;
}

bool flow_sources_line(struct flow_sources *sources, uint32_t image, uint64_t address, struct flow_line *line)
{
	const struct flow_debug *table = flow_image_tables_get(&sources->tables, image);

	if (!table)
		return false;
	address = flow_image_address(flow_timeline_image(sources->tables.timeline, image), address);
	return flow_lines_find(table->lines, address, line);
}

bool flow_sources_find(struct flow_sources *sources, uint32_t image, uint64_t address, const char **file,
		       uint32_t *line)
{
	struct flow_line found;

	if (!flow_sources_line(sources, image, address, &found))
		return false;
	*file = found.file;
	*line = found.line;
	return true;
}

bool flow_sources_begins(struct flow_sources *sources, uint32_t image, uint64_t address, uint32_t line)
{
	const struct flow_debug *table = flow_image_tables_get(&sources->tables, image);

	return table && flow_lines_begins(table->lines, address, line);
}

const struct flow_scope *flow_sources_scope(struct flow_sources *sources, uint32_t image, uint64_t address)
{
	const struct flow_debug *table = flow_image_tables_get(&sources->tables, image);

	if (!table || !table->scopes)
		return NULL;
	return flow_scopes_find(table->scopes,
				flow_image_address(flow_timeline_image(sources->tables.timeline, image), address));
}

int flow_sources_walk(struct flow_sources *sources, uint32_t image, flow_lines_visit *visit, void *context, bool *any)
{
	const struct flow_debug *table = flow_image_tables_get(&sources->tables, image);

	*any = table != NULL;
	return *any ? flow_lines_walk(table->lines, visit, context) : 0;
}
