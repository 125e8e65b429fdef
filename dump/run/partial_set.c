/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the shards of one work: checks that their descriptions match, and lets views read the shards side by side. */
#include <inttypes.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "common/error.h"
#include "common/text/guid.h"
#include "common/text/text.h"
#include "common/vector.h"
#include "common/version.h"
#include "dump/run/description.h"

/* The results of one view over one trace in one file. */
struct run {
	struct dump_trace_id trace;
	char *view;
	uint64_t records; /* offset of the first block of records */
	bool used;
};

struct part {
	struct dump_partial_reader reader;
	struct dump_description description;
	struct run *runs;
	size_t run_count;
};

/* The part that a view reads as one of its sources. */
struct source {
	struct part *part;
	struct dump_partial_records records;
};

struct dump_partial_set {
	struct part *parts; /* sorted by traces, then by shard number */
	size_t count;
	struct part **firsts; /* for each of several traces, its first shard */
	size_t first_count;
	size_t opened; /* number of traces opened */
	struct dump_partial_damage *damage;
	size_t damage_count;
	struct source *sources; /* of the current view */
	size_t source_count;
	struct flow_shard shard;
	struct ptl_bytes payload; /* scratch */
};

/* ---- one file ------------------------------------------------------------------------------------ */

static int fail_part(const struct part *part, const char *what)
{
	return common_fail(PTL_CORRUPT, "%s: %s; make this partial result again", part->reader.path, what);
}

static int add_run(struct part *part, struct common_cursor *payload, uint64_t records)
{
	struct run run = {.trace = dump_trace_id_read(payload), .records = records};

	run.view = dump_partial_read_text(payload);
	if (payload->failed || common_cursor_left(payload)) {
		free(run.view);
		return fail_part(part, "a run cannot be right");
	}
	if (!common_vector_room(&part->runs, part->run_count, sizeof(*part->runs))) {
		free(run.view);
		return common_fail_memory("partial results", part->run_count * sizeof(*part->runs));
	}
	part->runs[part->run_count++] = run;
	return 0;
}

static int add_damage(struct dump_partial_set *set, const struct part *part, struct common_cursor *payload)
{
	struct dump_partial_damage damage = {.trace = dump_trace_id_read(payload)};

	damage.offset = common_read_varint(payload);
	damage.text = dump_partial_read_text(payload);
	if (payload->failed || common_cursor_left(payload)) {
		free(damage.text);
		return fail_part(part, "a damage cannot be right");
	}
	if (!common_vector_room(&set->damage, set->damage_count, sizeof(*set->damage))) {
		free(damage.text);
		return common_fail_memory("damages", set->damage_count * sizeof(*set->damage));
	}
	set->damage[set->damage_count++] = damage;
	return 0;
}

static int read_place(struct dump_partial_set *set, struct part *part, const struct dump_partial_place *place)
{
	struct common_cursor payload;
	uint64_t next;
	uint32_t kind;
	int status = dump_partial_read_block(&part->reader, place->offset, &kind, &set->payload, &next);

	if (status < 0)
		return status;
	payload = common_cursor(set->payload.data, set->payload.size);
	if (kind == DUMP_PARTIAL_RUN)
		return add_run(part, &payload, next);
	if (kind == DUMP_PARTIAL_DAMAGE)
		return add_damage(set, part, &payload);
	if (part->description.version)
		return fail_part(part, "it has two descriptions");
	status = dump_description_read(&set->payload, &part->description);
	return status < 0 ? common_fail_in(status, "%s", part->reader.path) : 0;
}

static int open_part(struct dump_partial_set *set, const char *path)
{
	struct part *part = &set->parts[set->count++];
	int status = dump_partial_reader_open(&part->reader, path);

	for (size_t i = 0; !status && i < part->reader.count; i++)
		status = read_place(set, part, &part->reader.places[i]);
	if (!status && !part->description.version)
		status = fail_part(part, "its description is missing");
	return status;
}

static void close_part(struct part *part)
{
	dump_partial_reader_close(&part->reader);
	dump_description_free(&part->description);
	for (size_t i = 0; i < part->run_count; i++)
		free(part->runs[i].view);
	free(part->runs);
}

/* ---- check of the descriptions ------------------------------------------------------------------- */

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_ids(const struct dump_trace_id *a, const struct dump_trace_id *b)
{
	int order = memcmp(&a->guid, &b->guid, sizeof(a->guid));

	if (!order)
		order = compare_u64((uint64_t)a->wall_time, (uint64_t)b->wall_time);
	return order ? order : compare_u64(a->size, b->size);
}

static int compare_traces(const struct dump_description *a, const struct dump_description *b)
{
	int order = compare_u64(a->trace_count, b->trace_count);

	for (size_t i = 0; !order && i < a->trace_count; i++)
		order = compare_ids(&a->traces[i], &b->traces[i]);
	return order;
}

static int compare_parts(const void *a_, const void *b_)
{
	const struct part *a = a_, *b = b_;
	int order = compare_traces(&a->description, &b->description);

	if (!order)
		order = compare_u64(a->description.number, b->description.number);
	return order ? order : strcmp(a->reader.path, b->reader.path);
}

/* Sorts by the paths of the traces as given, so the order does not depend on the places of the files. */
static int compare_firsts(const void *a_, const void *b_)
{
	const struct part *a = *(struct part *const *)a_, *b = *(struct part *const *)b_;
	const int order = strcmp(a->description.paths[0], b->description.paths[0]);

	return order ? order : compare_parts(a, b);
}

static bool has_same_options(const struct dump_description *a, const struct dump_description *b)
{
	if (strcmp(a->command, b->command) != 0 || strcmp(a->operand, b->operand) != 0 ||
	    a->option_count != b->option_count)
		return false;
	for (size_t i = 0; i < a->option_count; i++)
		if (strcmp(a->options[i], b->options[i]) != 0)
			return false;
	return true;
}

static void add_command(const struct dump_description *description, struct ptl_bytes *text)
{
	common_text_add(text, "'");
	common_text_safe(text, description->command);
	if (*description->operand) {
		common_text_add(text, " ");
		common_text_safe(text, description->operand);
	}
	for (size_t i = 0; i < description->option_count; i++) {
		common_text_add(text, " ");
		common_text_safe(text, description->options[i]);
	}
	common_text_add(text, "'");
}

static int check_work(const struct part *first, const struct part *part)
{
	const struct dump_description *a = &first->description, *b = &part->description;
	struct ptl_bytes text = {0};
	int status;

	if (strcmp(b->version, COMMON_VERSION) != 0)
		return common_fail(PTL_MISUSE, "%s was made by ptl-dump %.32s, and this is %s: make it again",
				   part->reader.path, b->version, COMMON_VERSION);
	if (has_same_options(a, b))
		return 0;
	common_text_format(&text, "%s is of ", first->reader.path);
	add_command(a, &text);
	common_text_format(&text, ", and %s of ", part->reader.path);
	add_command(b, &text);
	common_text_add(&text, ": only shards of one command with the same options can be merged");
	status = common_fail(PTL_MISUSE, "%s", common_text_string(&text));
	common_bytes_free(&text);
	return status;
}

/* Adds "3", or "3 to 7". */
static void add_span(uint32_t first, uint32_t last, struct ptl_bytes *text)
{
	common_text_format(text, "%s%" PRIu32, text->size ? ", " : "", first);
	if (last > first)
		common_text_format(text, " to %" PRIu32, last);
}

#define SPANS_SHOWN 8

/* Checks that the parts, sorted by number, are all shards of one work. */
static int check_shards(const struct part *parts, size_t count)
{
	const uint32_t wanted = parts[0].description.count;
	struct ptl_bytes missing = {0};
	uint32_t next = 1;
	unsigned spans = 0;
	int status = 0;

	for (size_t i = 0; !status && i <= count; i++) {
		const uint32_t number = i < count ? parts[i].description.number : wanted + 1;

		if (i < count && parts[i].description.count != wanted)
			status = common_fail(
				PTL_MISUSE,
				"%s is one of %" PRIu32 " shards, and %s one of %" PRIu32 ": all have to be cut alike",
				parts[0].reader.path, wanted, parts[i].reader.path, parts[i].description.count);
		else if (i && i < count && number == parts[i - 1].description.number)
			status = common_fail(PTL_MISUSE,
					     "shard %" PRIu32 "/%" PRIu32 " is there twice: in %s and in %s", number,
					     wanted, parts[i - 1].reader.path, parts[i].reader.path);
		else if (number > next && ++spans <= SPANS_SHOWN)
			add_span(next, number - 1, &missing);
		next = number + 1;
	}
	if (!status && spans)
		status = common_fail(PTL_MISUSE, "of the %" PRIu32 " shards of %s these are missing: %s%s", wanted,
				     parts[0].description.paths[0], common_text_string(&missing),
				     spans > SPANS_SHOWN ? ", ..." : "");
	common_bytes_free(&missing);
	return status;
}

static int fail_traces(const struct part *a, const struct part *b)
{
	const bool alike = strcmp(a->description.paths[0], b->description.paths[0]) == 0;

	return common_fail(PTL_MISUSE,
			   "%s is of %s, and %s of %s: of '%s' only shards of the same traces can be merged",
			   a->reader.path, a->description.paths[0], b->reader.path,
			   alike ? "another trace of that name" : b->description.paths[0], a->description.command);
}

static int check_parts(struct dump_partial_set *set, bool adds_traces)
{
	int status = 0;

	for (size_t i = 0; !status && i < set->count; i++)
		status = check_work(&set->parts[0], &set->parts[i]);
	qsort(set->parts, set->count, sizeof(*set->parts), compare_parts);
	if (!status && !adds_traces)
		for (size_t i = 1; i < set->count; i++)
			if (compare_traces(&set->parts[0].description, &set->parts[i].description) != 0)
				return fail_traces(&set->parts[0], &set->parts[i]);
	for (size_t i = 0, end; !status && i < set->count; i = end) {
		for (end = i + 1; end < set->count; end++)
			if (compare_traces(&set->parts[i].description, &set->parts[end].description) != 0)
				break;
		status = check_shards(&set->parts[i], end - i);
		set->firsts[set->first_count++] = &set->parts[i];
	}
	if (!status)
		qsort(set->firsts, set->first_count, sizeof(struct part *), compare_firsts);
	return status;
}

/* ---- damage -------------------------------------------------------------------------------------- */

static int compare_damage(const void *a_, const void *b_)
{
	const struct dump_partial_damage *a = a_, *b = b_;
	int order = compare_ids(&a->trace, &b->trace);

	if (!order)
		order = compare_u64(a->offset, b->offset);
	return order ? order : strcmp(a->text, b->text);
}

/* Sorts the damage and removes duplicates that several shards found. */
static void sort_damage(struct dump_partial_set *set)
{
	size_t kept = 0;

	if (!set->damage_count)
		return;
	qsort(set->damage, set->damage_count, sizeof(*set->damage), compare_damage);
	for (size_t i = 0; i < set->damage_count; i++) {
		if (kept && compare_damage(&set->damage[kept - 1], &set->damage[i]) == 0)
			free(set->damage[i].text);
		else
			set->damage[kept++] = set->damage[i];
	}
	set->damage_count = kept;
}

const struct dump_partial_damage *dump_partial_set_damage(const struct dump_partial_set *set, size_t *count)
{
	*count = set->damage_count;
	return set->damage;
}

/* ---- for views ----------------------------------------------------------------------------------- */

static void free_sources(struct dump_partial_set *set)
{
	for (size_t i = 0; i < set->source_count; i++)
		common_bytes_free(&set->sources[i].records.payload);
	set->source_count = 0;
}

/* Returns the first unread run of the view over the trace; NULL: none. */
static struct run *find_run(struct part *part, const struct dump_trace_id *id, const char *view)
{
	for (size_t i = 0; i < part->run_count; i++)
		if (!part->runs[i].used && strcmp(part->runs[i].view, view) == 0 &&
		    dump_trace_id_equal(&part->runs[i].trace, id))
			return &part->runs[i];
	return NULL;
}

/* Collects the runs of a view from all parts. A part without such a run found no work in its section of the trace. */
static int open_run(void *context, struct ptl_trace *trace, const char *view, size_t *sources)
{
	struct dump_partial_set *set = context;
	const struct dump_trace_id id = dump_trace_id_of(trace);

	free_sources(set);
	for (size_t i = 0; i < set->count; i++) {
		struct run *run = find_run(&set->parts[i], &id, view);

		if (!run)
			continue;
		run->used = true;
		set->sources[set->source_count++] = (struct source){.part = &set->parts[i],
								    .records.next = run->records};
	}
	*sources = set->source_count;
	return 0;
}

static int get_record(void *context, size_t source, struct ptl_bytes *record)
{
	struct dump_partial_set *set = context;

	return dump_partial_read_record(&set->sources[source].part->reader, &set->sources[source].records, record);
}

const struct flow_shard *dump_partial_set_shard(const struct dump_partial_set *set)
{
	return &set->shard;
}

/* ---- the set ------------------------------------------------------------------------------------- */

/* Raises the limit of open files: each part stays open. */
static void allow_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

int dump_partial_set_open(char *const *paths, size_t count, bool (*adds_traces)(const char *command),
			  struct dump_partial_set **result)
{
	struct dump_partial_set *set = calloc(1, sizeof(*set));
	int status = 0;

	*result = set;
	if (!set)
		return common_fail_memory("partial results", sizeof(*set));
	set->parts = calloc(count + 1, sizeof(*set->parts));
	set->firsts = calloc(count + 1, sizeof(struct part *));
	set->sources = calloc(count + 1, sizeof(*set->sources));
	set->shard = (struct flow_shard){.context = set, .open = open_run, .get = get_record};
	if (!set->parts || !set->firsts || !set->sources)
		return common_fail_memory("partial results", count * sizeof(*set->parts));
	allow_files();
	for (size_t i = 0; !status && i < count; i++)
		status = open_part(set, paths[i]);
	if (!status)
		status = check_parts(set, adds_traces(set->parts[0].description.command));
	sort_damage(set);
	return status;
}

void dump_partial_set_close(struct dump_partial_set *set)
{
	if (!set)
		return;
	free_sources(set);
	for (size_t i = 0; i < set->count; i++)
		close_part(&set->parts[i]);
	for (size_t i = 0; i < set->damage_count; i++)
		free(set->damage[i].text);
	free(set->damage);
	free(set->parts);
	free(set->firsts);
	free(set->sources);
	common_bytes_free(&set->payload);
	free(set);
}

const struct dump_description *dump_partial_set_description(const struct dump_partial_set *set)
{
	return &set->parts[0].description;
}

/* Returns the description of the first shard that has path number *i. Changes *i to the index in this description. */
static const struct dump_description *find_path(const struct dump_partial_set *set, size_t *i)
{
	size_t k = 0;

	while (*i >= set->firsts[k]->description.path_count)
		*i -= set->firsts[k++]->description.path_count;
	return &set->firsts[k]->description;
}

size_t dump_partial_set_path_count(const struct dump_partial_set *set)
{
	size_t count = 0;

	for (size_t i = 0; i < set->first_count; i++)
		count += set->firsts[i]->description.path_count;
	return count;
}

const char *dump_partial_set_path(const struct dump_partial_set *set, size_t i)
{
	const struct dump_description *description = find_path(set, &i);

	return description->paths[i];
}

const char *dump_partial_set_place(const struct dump_partial_set *set, size_t i)
{
	const struct dump_description *description = find_path(set, &i);

	return description->places[i];
}

int dump_partial_set_trace(struct dump_partial_set *set, const struct ptl_trace *trace, const char *path)
{
	const struct dump_trace_id id = dump_trace_id_of(trace);
	size_t at = set->opened++, k = 0;

	while (k < set->first_count && at >= set->firsts[k]->description.trace_count)
		at -= set->firsts[k++]->description.trace_count;
	if (k < set->first_count && dump_trace_id_equal(&set->firsts[k]->description.traces[at], &id))
		return 0;
	return common_fail(PTL_MISUSE,
			   "%s is not the trace that the partial results are of, or has changed since; --trace FILE "
			   "says where that is",
			   path);
}
