/* SPDX-License-Identifier: BSD-2-Clause */
/* Which debug information belongs to an image, and the line tables made of it. */
#include "flow/symbol/source_line.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/hash_map.h"
#include "common/vector.h"
#include "elf/debug_search.h"
#include "flow/symbol/debug_file.h"
#include "flow/symbol/symbol.h"
#include "flow/symbol/symbol_file.h"

#define DEBUG_MAX ((size_t)2 << 30) /* bytes of one ELF file in the trace */

struct flow_sources {
	struct ptl_trace *trace;
	const struct flow_timeline *timeline;
	size_t image_count;
	bool scopes;
	_Atomic(struct flow_debug *) *by_image; /* NULL: not asked yet; NOTHING: there is none */
	struct flow_jit_files jit;              /* under the lock */
	pthread_mutex_t lock;                   /* of what is below */
	struct common_byte_map by_id;           /* debug blob's hash or build id: index in tables */
	struct flow_debug **tables;             /* owned; NOTHING where there is none */
	size_t table_count;
	size_t asked;
	size_t found;
	const char *missing; /* of a table; NULL: nothing is */
	size_t missing_count;
};

/* Never looked into. */
static char nothing_here;
#define NOTHING ((struct flow_debug *)(void *)&nothing_here)

int flow_sources_open(struct ptl_trace *trace, const struct flow_timeline *timeline, struct flow_sources **result)
{
	struct flow_sources *sources = calloc(1, sizeof(*sources));
	const size_t count = flow_timeline_image_count(timeline);

	if (!sources)
		return common_fail_memory("source lines", sizeof(*sources));
	sources->by_image = calloc(count + 1, sizeof(*sources->by_image));
	if (!sources->by_image) {
		free(sources);
		return common_fail_memory("source lines", count * sizeof(*sources->by_image));
	}
	sources->trace = trace;
	sources->timeline = timeline;
	sources->image_count = count;
	sources->jit.trace = trace;
	pthread_mutex_init(&sources->lock, NULL);
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
	for (size_t i = 0; i < sources->table_count; i++)
		if (sources->tables[i] != NOTHING)
			flow_debug_free(sources->tables[i]);
	free(sources->tables);
	free(sources->by_image);
	common_byte_map_free(&sources->by_id);
	flow_jit_files_free(&sources->jit);
	pthread_mutex_destroy(&sources->lock);
	free(sources);
}

void flow_sources_counts(struct flow_sources *sources, size_t *asked, size_t *found)
{
	pthread_mutex_lock(&sources->lock);
	*asked = sources->asked;
	*found = sources->found;
	pthread_mutex_unlock(&sources->lock);
}

size_t flow_sources_missing(struct flow_sources *sources, const char **name)
{
	size_t count;

	pthread_mutex_lock(&sources->lock);
	*name = sources->missing;
	count = sources->missing_count;
	pthread_mutex_unlock(&sources->lock);
	return count;
}

static struct flow_debug *from_trace(struct ptl_trace *trace, const struct ptl_image_event *image, bool scopes)
{
	struct flow_debug *table;
	uint8_t *data;
	size_t size;

	if (ptl_blob_read(trace, image->debug, DEBUG_MAX, &data, &size) < 0)
		return NULL;
	table = flow_debug_from_memory(trace, data, size, image->file_name, scopes);
	free(data);
	return table;
}

/* From the file that was mapped, if this machine has it, or from the debug file of one of either. */
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

/* What the user names goes before what the trace has, and that before what this machine has. */
static struct flow_debug *make_table(struct flow_sources *sources, const struct ptl_image_event *image,
				     const struct elf_jit_names *jit)
{
	struct flow_debug *table = NULL;

	if (jit)
		table = flow_debug_of_lines(jit->lines.list, jit->lines.count);
	else if (elf_debug_path_given())
		table = from_files(sources, image, true);
	if (!table && image->has_debug)
		table = from_trace(sources->trace, image, sources->scopes);
	if (!table && !jit)
		table = from_files(sources, image, false);
	if (table && table->missing) {
		if (!sources->missing)
			sources->missing = table->missing;
		sources->missing_count++;
	}
	return table ? table : NOTHING;
}

/* Called with the lock held. */
static struct flow_debug *table_of(struct flow_sources *sources, const struct ptl_image_event *image)
{
	struct flow_image_key key;
	const uint64_t *known;

	flow_image_key(image, image->has_debug ? image->debug : NULL, &sources->jit, &key);
	known = key.size ? common_byte_map_get(&sources->by_id, key.bytes, key.size) : NULL;
	if (!key.size)
		return NOTHING;
	if (known)
		return sources->tables[*known];
	if (!common_vector_room(&sources->tables, sources->table_count, sizeof(*sources->tables)) ||
	    common_byte_map_put(&sources->by_id, key.bytes, key.size, sources->table_count) < 0)
		return NOTHING;
	sources->tables[sources->table_count] = make_table(sources, image, key.jit);
	return sources->tables[sources->table_count++];
}

static struct flow_debug *table_of_image(struct flow_sources *sources, uint32_t image)
{
	struct flow_debug *table = atomic_load_explicit(&sources->by_image[image], memory_order_acquire);

	if (table)
		return table;
	pthread_mutex_lock(&sources->lock);
	table = table_of(sources, &flow_timeline_image(sources->timeline, image)->data);
	if (!atomic_load(&sources->by_image[image])) {
		sources->asked++;
		sources->found += table != NOTHING;
	}
	atomic_store_explicit(&sources->by_image[image], table, memory_order_release);
	pthread_mutex_unlock(&sources->lock);
	return table;
}

bool flow_sources_find(struct flow_sources *sources, uint32_t image, uint64_t address, const char **file,
		       uint32_t *line)
{
	const struct flow_debug *table;

	if (image >= sources->image_count)
		return false;
	table = table_of_image(sources, image);
	if (table == NOTHING)
		return false;
	address = flow_image_address(flow_timeline_image(sources->timeline, image), address);
	return flow_lines_find(table->lines, address, file, line);
}

bool flow_sources_begins(struct flow_sources *sources, uint32_t image, uint64_t address, uint32_t line)
{
	const struct flow_debug *table = image < sources->image_count ? table_of_image(sources, image) : NOTHING;

	return table != NOTHING && flow_lines_begins(table->lines, address, line);
}

const struct flow_scope *flow_sources_scope(struct flow_sources *sources, uint32_t image, uint64_t address)
{
	const struct flow_debug *table = image < sources->image_count ? table_of_image(sources, image) : NOTHING;

	if (table == NOTHING || !table->scopes)
		return NULL;
	return flow_scopes_find(table->scopes,
				flow_image_address(flow_timeline_image(sources->timeline, image), address));
}

int flow_sources_walk(struct flow_sources *sources, uint32_t image, flow_lines_visit *visit, void *context, bool *any)
{
	const struct flow_debug *table = image < sources->image_count ? table_of_image(sources, image) : NOTHING;

	*any = table != NOTHING;
	return *any ? flow_lines_walk(table->lines, visit, context) : 0;
}
