/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts flow to units: each segment on any worker thread, joined in order on the calling thread. */
#include "analysis/difference/diff_path.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/hash.h"
#include "common/text/text.h"
#include "common/vector.h"

#define IGNORED_NAMES 64

struct partial {
	struct analysis_diff_unit *units;
	size_t count;
	/* answers of analysis_ignores_function for names that blocks had recently */
	struct {
		const char *name;
		bool ignored;
	} names[IGNORED_NAMES];
};

/* Units that are held back: a PLT entry's look-up begins with a jump within the PLT, and a jump into the linker. */
#define HELD 2

struct path_view {
	const struct analysis_diff *diff;
	const struct analysis_diff_run *run;
	struct analysis_diff_path *path;
	uint8_t *library; /* by image: LIBRARY, LINKER or PLAIN; owned */
	bool again;       /* second run: the threads are known */
	size_t next;      /* index of the next thread in a second run */
	uint64_t hash;    /* hash of the current thread's units so far */
	uint64_t units;   /* number of the current thread's units so far */
	bool has_open;
	struct analysis_diff_unit open; /* last unit, which the next block may continue */
	uint8_t chance; /* the flow is in code that depends on other threads: WAITING, RESOLVING; or PLAIN */
	struct analysis_diff_unit held[HELD]; /* last units, which may belong to a look-up */
	size_t held_count;
	struct analysis_diff_thread *thread;
};

/* ---- on workers -------------------------------------------------------------------------- */

static int path_begin(void *context, const struct flow_segment *segment, void **partial)
{
	(void)context;
	(void)segment;
	*partial = calloc(1, sizeof(struct partial));
	return *partial ? 0 : common_fail_memory("units", sizeof(struct partial));
}

static void path_drop(void *context, void *partial_)
{
	struct partial *partial = partial_;

	(void)context;
	free(partial->units);
	free(partial);
}

/* ---- functions that wait ----------------------------------------------------------------- */

/*
 * What these functions of the C library execute depends on other threads. From the beginning of such a function until
 * the flow leaves the library, units are left out. So is the code of the library behind the function's return, if the
 * library itself called the function.
 */
static const char *const waiting_functions[] = {
	"pthread_mutex_*",
	"__pthread_mutex_*",
	"pthread_cond_*",
	"pthread_rwlock_*",
	"pthread_spin_*",
	"pthread_join",
	"pthread_barrier_*",
	"pthread_*join_np",
	"sem_wait",
	"sem_*wait",
	"sem_post",
	"sched_yield",
	"nanosleep",
	"clock_nanosleep",
	"usleep",
	"sleep",
	"poll",
	"ppoll",
	"select",
	"pselect",
	"epoll_wait",
	"epoll_pwait",
	"pthread_testcancel",
	"thrd_yield",
	"mtx_*",
	"cnd_*",
};

static uint8_t library_of(const char *path)
{
	static const struct {
		const char *pattern;
		uint8_t code;
	} names[] = {{"libc.so*", ANALYSIS_DIFF_LIBRARY},    {"libc-*.so", ANALYSIS_DIFF_LIBRARY},
		     {"libpthread*", ANALYSIS_DIFF_LIBRARY}, {"[[]vdso]", ANALYSIS_DIFF_LIBRARY},
		     {"ld-linux*", ANALYSIS_DIFF_LINKER},    {"ld-[0-9]*", ANALYSIS_DIFF_LINKER},
		     {"ld.so*", ANALYSIS_DIFF_LINKER}};
	const char *name = common_base_name(path);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (fnmatch(names[i].pattern, name, 0) == 0)
			return names[i].code;
	return ANALYSIS_DIFF_PLAIN;
}

/* Whether a function begins at the block that waits, or that looks up a function. */
static bool begins_chance(const struct path_view *view, const struct flow_block *block)
{
	struct flow_symbol symbol;
	char name[64];
	size_t size;

	if (!flow_symbols_find(view->run->symbols, block->image, block->ip, &symbol) || symbol.offset)
		return false;
	/* Without the version: "pthread_cond_wait@@GLIBC_2.3.2". */
	size = strcspn(symbol.name, "@");
	if (view->library[block->image] == ANALYSIS_DIFF_LINKER)
		return strncmp(symbol.name, "_dl_runtime_resolve", strlen("_dl_runtime_resolve")) == 0;
	if (size >= sizeof(name))
		return false;
	memcpy(name, symbol.name, size);
	name[size] = 0;
	for (size_t i = 0; i < sizeof(waiting_functions) / sizeof(waiting_functions[0]); i++)
		if (fnmatch(waiting_functions[i], name, 0) == 0)
			return true;
	return false;
}

static uint8_t code_of(const struct path_view *view, const struct flow_block *block)
{
	uint8_t code;

	if (view->diff->waiting || block->image == FLOW_NONE || !view->library[block->image])
		return ANALYSIS_DIFF_PLAIN;
	code = view->library[block->image];
	if (!begins_chance(view, block))
		return code;
	return code == ANALYSIS_DIFF_LINKER ? ANALYSIS_DIFF_RESOLVING : ANALYSIS_DIFF_WAITING;
}

/* Finds the images of the C library. The caller frees *library. */
static int find_library(const struct analysis_diff_run *run, uint8_t **library)
{
	const size_t count = flow_timeline_image_count(run->timeline);

	*library = calloc(count + 1, sizeof(**library));
	if (!*library)
		return common_fail_memory("images", count);
	for (size_t i = 0; i < count; i++)
		(*library)[i] = library_of(flow_timeline_image(run->timeline, i)->data.file_name);
	return 0;
}

/*
 * Extends a unit by code that follows directly, without a branch between them. Returns false if the code starts a new
 * unit.
 */
static bool extend(struct analysis_diff_unit *unit, const struct analysis_diff_unit *next)
{
	if (unit->branch != FLOW_BRANCH_NONE || !unit->end || unit->key != next->key || unit->end != next->first ||
	    !next->end)
		return false;
	unit->end = next->end;
	unit->last_ip = next->last_ip;
	unit->branch = next->branch;
	return true;
}

static int add_unit(struct partial *partial, const struct analysis_diff_unit *unit)
{
	if (partial->count && extend(&partial->units[partial->count - 1], unit))
		return 0;
	if (!common_vector_room(&partial->units, partial->count, sizeof(*unit)))
		return common_fail_memory("units", partial->count * sizeof(*unit));
	partial->units[partial->count++] = *unit;
	return 0;
}

static bool is_ignored_name(const struct analysis_ignore *ignore, struct partial *partial, const char *name)
{
	const size_t at = common_hash_mix((uintptr_t)name) % IGNORED_NAMES;

	if (partial->names[at].name != name) {
		partial->names[at].name = name;
		partial->names[at].ignored = analysis_ignores_function(ignore, name);
	}
	return partial->names[at].ignored;
}

static bool is_ignored(const struct path_view *view, struct partial *partial, const struct flow_block *block,
		       uint64_t address)
{
	const struct analysis_ignore *ignore = view->diff->ignore;
	struct flow_symbol symbol;

	if (!ignore->count)
		return false;
	return analysis_ignores_address(ignore, flow_timeline_image(view->run->timeline, block->image)->data.file_name,
					address) ||
	       (ignore->functions && flow_symbols_find(view->run->symbols, block->image, block->ip, &symbol) &&
		is_ignored_name(ignore, partial, symbol.name));
}

static int path_add_block(const struct path_view *view, struct partial *partial, const struct flow_block *block)
{
	struct analysis_diff_unit unit = {
		.first = block->ip,
		.end = block->ip + block->size,
		.key = ANALYSIS_DIFF_NO_IMAGE,
		.image = block->image,
		.ip = block->ip,
		.last_ip = block->last_ip,
		.branch = block->branch,
		.code = code_of(view, block),
	};
	struct flow_symbol symbol;

	if (block->image != FLOW_NONE) {
		const struct analysis_diff_image *image = &view->run->images[block->image];

		unit.first = flow_image_address(flow_timeline_image(view->run->timeline, block->image), block->ip);
		unit.end = unit.first + block->size;
		unit.key = image->key;
		if (!image->key || is_ignored(view, partial, block, unit.first)) {
			unit.is_ignored = true;
			unit.end = 0;
			return unit.code == ANALYSIS_DIFF_WAITING || unit.code == ANALYSIS_DIFF_RESOLVING
				       ? add_unit(partial, &unit)
				       : 0;
		}
		if (image->by_symbol) {
			if (!flow_symbols_find(view->run->symbols, block->image, block->ip, &symbol) || symbol.offset)
				return 0;
			unit.first = common_hash_bytes(symbol.name, strlen(symbol.name));
			unit.end = 0;
		}
	}
	return add_unit(partial, &unit);
}

static int path_consume(void *context, void *partial, const struct flow_segment *segment,
			const struct flow_batch *batch)
{
	struct flow_batch_cursor cursor = flow_batch_walk(batch);
	int status = 0;

	(void)segment;
	while (!status && flow_batch_next(&cursor)) {
		if (cursor.block) {
			status = path_add_block(context, partial, cursor.block);
		} else if (cursor.event->kind == FLOW_GAP) {
			const struct analysis_diff_unit gap = {.first = cursor.event->cause,
							       .key = ANALYSIS_DIFF_GAP,
							       .image = FLOW_NONE,
							       .ip = cursor.event->from};

			status = add_unit(partial, &gap);
		}
	}
	return status;
}

/* ---- in order ---------------------------------------------------------------------------- */

static uint64_t mix_hash(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

static int end_chunk(struct path_view *view)
{
	struct analysis_diff_thread *thread = view->thread;

	if (view->again)
		return 0;
	if (!common_vector_room(&thread->hashes, thread->hash_count, sizeof(*thread->hashes)))
		return common_fail_memory("hashes", thread->hash_count * sizeof(*thread->hashes));
	thread->hashes[thread->hash_count++] = view->hash;
	return 0;
}

/* Adds a unit to the hash and to the requested stretch. */
static int commit_unit(struct path_view *view, const struct analysis_diff_unit *unit)
{
	struct analysis_diff_thread *thread = view->thread;
	const uint64_t number = view->units++;

	if (!view->again)
		thread->sketch[mix_hash(mix_hash(mix_hash(1, unit->key), unit->first), unit->end) %
			       ANALYSIS_DIFF_SKETCH]++;
	view->hash = mix_hash(mix_hash(mix_hash(view->hash, unit->key), unit->first), unit->end);
	if (view->units % ANALYSIS_DIFF_CHUNK == 0 && end_chunk(view) < 0)
		return PTL_NO_MEMORY;
	if (number < thread->from || number - thread->from >= thread->wanted)
		return 0;
	if (!common_vector_room(&thread->stretch, thread->stretch_count, sizeof(*unit)))
		return common_fail_memory("units", thread->stretch_count * sizeof(*unit));
	thread->stretch[thread->stretch_count++] = *unit;
	return 0;
}

/* A look-up begins: the jumps of the PLT that led to it belong to it. */
static void drop_held(struct path_view *view)
{
	static const uint8_t branches[HELD] = {FLOW_BRANCH_JUMP_INDIRECT, FLOW_BRANCH_JUMP};

	for (size_t i = 0; i < HELD && view->held_count; i++) {
		if (view->held[view->held_count - 1].branch != branches[i])
			return;
		view->held_count--;
		view->thread->waiting += !view->again;
	}
}

/* Whether the unit depends on other threads: code of a waiting function, of a callee, or of a look-up. */
static bool is_chance(struct path_view *view, const struct analysis_diff_unit *unit)
{
	const bool in_linker = unit->code == ANALYSIS_DIFF_LINKER || unit->code == ANALYSIS_DIFF_RESOLVING;

	if (view->chance == ANALYSIS_DIFF_RESOLVING && !in_linker)
		view->chance = ANALYSIS_DIFF_PLAIN;
	if (view->chance == ANALYSIS_DIFF_WAITING && unit->code == ANALYSIS_DIFF_PLAIN &&
	    unit->key != ANALYSIS_DIFF_GAP)
		view->chance = ANALYSIS_DIFF_PLAIN;
	if (view->chance != ANALYSIS_DIFF_PLAIN)
		return true;
	if (unit->code != ANALYSIS_DIFF_WAITING && unit->code != ANALYSIS_DIFF_RESOLVING)
		return false;
	if (unit->code == ANALYSIS_DIFF_RESOLVING)
		drop_held(view);
	view->chance = unit->code;
	return true;
}

/* Handles a complete unit. */
static int finish_unit(struct path_view *view, const struct analysis_diff_unit *unit)
{
	int status = 0;

	if (is_chance(view, unit)) {
		view->thread->waiting += !view->again && !unit->is_ignored;
		return 0;
	}
	if (view->held_count == HELD) {
		status = commit_unit(view, &view->held[0]);
		memmove(view->held, view->held + 1, (HELD - 1) * sizeof(*view->held));
		view->held_count--;
	}
	view->held[view->held_count++] = *unit;
	return status;
}

static int take_unit(struct path_view *view, const struct analysis_diff_unit *unit)
{
	int status = 0;

	if (view->has_open && extend(&view->open, unit))
		return 0;
	if (view->has_open)
		status = finish_unit(view, &view->open);
	view->open = *unit;
	view->has_open = true;
	return status;
}

static int end_thread(struct path_view *view)
{
	int status = 0;

	if (!view->thread)
		return 0;
	if (view->has_open)
		status = finish_unit(view, &view->open);
	for (size_t i = 0; !status && i < view->held_count; i++)
		status = commit_unit(view, &view->held[i]);
	if (!status && view->units % ANALYSIS_DIFF_CHUNK)
		status = end_chunk(view);
	view->thread->units = view->units;
	view->has_open = false;
	view->held_count = 0;
	view->chance = ANALYSIS_DIFF_PLAIN;
	view->hash = view->units = 0;
	view->thread = NULL;
	return status;
}

static bool is_same_thread(const struct path_view *view, const struct flow_segment *segment)
{
	const struct analysis_diff_thread *thread = view->thread;

	return thread &&
	       (thread->group == segment->group || (segment->thread != FLOW_NONE && segment->thread == thread->thread &&
						    segment->process == thread->process));
}

static int begin_thread(struct path_view *view, const struct flow_segment *segment)
{
	struct analysis_diff_path *path = view->path;
	int status = end_thread(view);

	if (status)
		return status;
	if (view->again) {
		view->thread = &path->threads[view->next++];
		view->thread->group = segment->group;
		return 0;
	}
	if (!common_vector_room(&path->threads, path->count, sizeof(*path->threads)))
		return common_fail_memory("threads", path->count * sizeof(*path->threads));
	view->thread = &path->threads[path->count++];
	*view->thread = (struct analysis_diff_thread){
		.process = segment->process,
		.thread = segment->thread,
		.pid = segment->pid,
		.tid = segment->tid,
		.cpu = segment->cpu,
		.group = segment->group,
	};
	return 0;
}

static int path_emit(void *context, const struct flow_segment *segment, void *partial_, uint64_t horizon)
{
	struct path_view *view = context;
	struct partial *partial = partial_;
	int status = is_same_thread(view, segment) ? 0 : begin_thread(view, segment);

	(void)horizon;
	if (!status)
		view->thread->group = segment->group;
	for (size_t i = 0; !status && i < partial->count; i++)
		status = take_unit(view, &partial->units[i]);
	path_drop(context, partial);
	return status;
}

int analysis_diff_path_run(const struct analysis_diff *diff, const struct analysis_diff_run *run,
			   struct analysis_diff_path *path)
{
	struct path_view context = {.diff = diff, .run = run, .path = path, .again = path->count > 0};
	const struct flow_view view = {
		.context = &context,
		.begin = path_begin,
		.consume = path_consume,
		.emit = path_emit,
		.drop = path_drop,
	};
	int status = find_library(run, &context.library);

	if (!status)
		status = flow_view_run(run->input.trace, run->timeline, &run->input.view, &view);
	if (!status)
		status = end_thread(&context);
	free(context.library);
	return status ? common_fail_in(status, "%s", run->input.path) : 0;
}

void analysis_diff_path_free(struct analysis_diff_path *path)
{
	for (size_t i = 0; i < path->count; i++) {
		free(path->threads[i].hashes);
		free(path->threads[i].stretch);
	}
	free(path->threads);
	*path = (struct analysis_diff_path){0};
}
