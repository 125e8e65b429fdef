/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes paths of calls as a profile for pprof: a gzip-compressed protocol buffer message, with fields of
 * proto/profile.proto in github.com/google/pprof.
 */
#include "dump/export/profile/pprof.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text/text.h"
#include "common/vector.h"
#include "common/version.h"
#include "dump/export/gzip.h"
#include "dump/export/path_trail.h"
#include "dump/export/profile/line_count.h"
#include "dump/export/protobuf.h"

enum profile {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME = 9,
	PROFILE_DURATION = 10,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_TYPE = 14,
};
enum { TYPE_NAME = 1, TYPE_UNIT = 2 };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_STRING = 2, LABEL_NUMBER = 3 };
enum { MAPPING_ID = 1, MAPPING_FILE = 5, MAPPING_HAS_FUNCTIONS = 7, MAPPING_HAS_FILES = 8, MAPPING_HAS_LINES = 9 };
enum {
	LOCATION_ID = 1,
	LOCATION_MAPPING = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,
	LINE_FUNCTION = 1,
	LINE_LINE = 2
};
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILE = 4, FUNCTION_START_LINE = 5 };

/*
 * Remaining instructions of one line of a function, while these are distributed over the function's paths. A function's
 * first share has the instructions without a line in the function's own file, and the number of shares.
 */
struct share {
	uint64_t left;
	uint64_t location; /* 0: not written yet */
	uint32_t line;
	uint32_t count; /* first share only: number of shares, including itself */
	uint32_t next;  /* first share only: index of the next share that may have instructions left */
};

#define FLUSH_BYTES ((size_t)64 << 10)

/* Locations of callers as in a sample: innermost first, so the text grows at its front. */
struct tail {
	uint8_t *data; /* owned; the used part is at the end */
	size_t size, capacity;
};

/* Names and units of values. */
#define VALUES 3
struct types {
	const char *names[VALUES], *units[VALUES];
	int first, last; /* range of values in the profile; last is exclusive */
	int chosen;      /* value that pprof shows by default */
};

struct pprof {
	struct dump_run *run;
	struct types types;
	const struct analysis_paths *paths;
	struct dump_function_lines lines;
	struct dump_gzip gzip;
	struct ptl_bytes bytes; /* unwritten part of the profile */
	struct ptl_bytes message, inner, text;
	struct common_byte_map strings;
	size_t string_count;
	struct common_byte_map mappings; /* numbers by path */
	size_t mapping_count;
	uint64_t location_count;
	uint32_t *ids;                  /* location by node */
	struct dump_line_counts counts; /* empty if lines are not requested */
	struct share *shares;           /* owned */
	size_t share_count, share_capacity;
	struct analysis_path_numbers functions; /* index of the function's first share, from 1 */
	struct dump_path_trail trail;
	struct tail tail;         /* locations of the trail */
	struct ptl_bytes *labels; /* encoded labels by group of threads; owned, each too */
};

static int flush_samples(struct pprof *pprof, bool last)
{
	int status;

	if (pprof->bytes.failed)
		return common_fail_memory("a profile", pprof->bytes.size);
	if (!last && pprof->bytes.size < FLUSH_BYTES)
		return 0;
	status = dump_gzip_write(&pprof->gzip, pprof->bytes.data, pprof->bytes.size, last);
	pprof->bytes.size = 0;
	return status;
}

/* ---- strings ------------------------------------------------------------------------------------- */

/* Returns the number of a string. Writes the string at its first use. Sets bytes.failed without memory. */
static uint64_t string_of(struct pprof *pprof, const char *words)
{
	const uint64_t *known = common_byte_map_get(&pprof->strings, words, strlen(words));
	const uint64_t number = pprof->string_count;

	if (known)
		return *known;
	if (common_byte_map_put(&pprof->strings, words, strlen(words), number) < 0)
		pprof->bytes.failed = true;
	pprof->string_count++;
	dump_proto_string(&pprof->bytes, PROFILE_STRING, words);
	return number;
}

/* As string_of, for trace text that need not be valid UTF-8. */
static uint64_t safe_string(struct pprof *pprof, const char *words)
{
	pprof->text.size = 0;
	common_text_safe(&pprof->text, words);
	return string_of(pprof, common_text_string(&pprof->text));
}

static void put_type(struct pprof *pprof, const char *name, const char *unit)
{
	dump_proto_u64(&pprof->message, TYPE_NAME, string_of(pprof, name));
	dump_proto_u64(&pprof->message, TYPE_UNIT, string_of(pprof, unit));
	dump_proto_message(&pprof->bytes, PROFILE_SAMPLE_TYPE, &pprof->message);
}

/* ---- functions ----------------------------------------------------------------------------------- */

/* Returns the mapping of a file; 0: no file. */
static uint64_t mapping_of(struct pprof *pprof, const char *path)
{
	const uint64_t *known = common_byte_map_get(&pprof->mappings, path, strlen(path));
	const uint64_t number = pprof->mapping_count + 1;
	uint64_t file;

	if (!*path)
		return 0;
	if (known)
		return *known;
	if (common_byte_map_put(&pprof->mappings, path, strlen(path), number) < 0)
		pprof->bytes.failed = true;
	pprof->mapping_count++;
	file = safe_string(pprof, path);
	dump_proto_u64(&pprof->message, MAPPING_ID, number);
	dump_proto_u64(&pprof->message, MAPPING_FILE, file);
	dump_proto_u64(&pprof->message, MAPPING_HAS_FUNCTIONS, 1);
	dump_proto_u64(&pprof->message, MAPPING_HAS_FILES, 1);
	dump_proto_u64(&pprof->message, MAPPING_HAS_LINES, 1);
	dump_proto_message(&pprof->bytes, PROFILE_MAPPING, &pprof->message);
	return number;
}

static void put_function(struct pprof *pprof, uint32_t number, uint64_t id)
{
	const struct analysis_function *function = analysis_function(pprof->paths->calls->functions, number);
	const uint64_t mapping = mapping_of(pprof, function->path);
	const char *const linker_name = dump_function_linker_name(&pprof->lines, function);
	const char *path;
	uint32_t line = 0;
	uint64_t name, system_name, file = 0;

	if (dump_function_line(&pprof->lines, function, &path, &line))
		file = safe_string(pprof, path);
	system_name = linker_name ? safe_string(pprof, linker_name) : 0;

	pprof->text.size = 0;
	analysis_path_function_text(pprof->paths, number, &pprof->text);
	name = string_of(pprof, common_text_string(&pprof->text));
	dump_proto_u64(&pprof->message, FUNCTION_ID, id);
	dump_proto_u64(&pprof->message, FUNCTION_NAME, name);
	/* If both names are equal, pprof removes text that looks like C++ arguments. */
	dump_proto_u64(&pprof->message, FUNCTION_SYSTEM_NAME, linker_name ? system_name : name);
	if (file) {
		dump_proto_u64(&pprof->message, FUNCTION_FILE, file);
		dump_proto_u64(&pprof->message, FUNCTION_START_LINE, line);
	}
	dump_proto_message(&pprof->bytes, PROFILE_FUNCTION, &pprof->message);
	dump_proto_u64(&pprof->message, LOCATION_ID, id);
	if (mapping)
		dump_proto_u64(&pprof->message, LOCATION_MAPPING, mapping);
	if (number != ANALYSIS_NO_FUNCTION)
		dump_proto_u64(&pprof->message, LOCATION_ADDRESS, function->address);
	dump_proto_u64(&pprof->inner, LINE_FUNCTION, id);
	if (file)
		dump_proto_u64(&pprof->inner, LINE_LINE, line);
	dump_proto_message(&pprof->message, LOCATION_LINE, &pprof->inner);
	dump_proto_message(&pprof->bytes, PROFILE_LOCATION, &pprof->message);
}

/* Writes functions in the order of the nodes: their own numbers may differ in the next run. */
static int put_functions(struct pprof *pprof)
{
	const struct analysis_path_tree *tree = &pprof->paths->tree;
	struct analysis_path_numbers locations = {0};
	int status = analysis_path_numbers_open(&locations, pprof->paths);

	for (size_t i = 1; status == 0 && i < tree->count; i++) {
		uint32_t *known = analysis_path_number(&locations, tree->nodes[i].function);

		if (!tree->nodes[i].parent)
			continue;
		if (!*known) {
			*known = (uint32_t)++pprof->location_count;
			put_function(pprof, tree->nodes[i].function, *known);
			status = flush_samples(pprof, false);
		}
		pprof->ids[i] = *known;
	}
	analysis_path_numbers_close(&locations);
	return status;
}

/* ---- samples ------------------------------------------------------------------------------------- */

static void put_number_label(struct pprof *pprof, struct ptl_bytes *labels, const char *key, uint64_t number)
{
	dump_proto_u64(&pprof->inner, LABEL_KEY, string_of(pprof, key));
	dump_proto_u64(&pprof->inner, LABEL_NUMBER, number);
	dump_proto_message(labels, SAMPLE_LABEL, &pprof->inner);
}

static void put_text_label(struct pprof *pprof, struct ptl_bytes *labels, const char *key, const char *words)
{
	const uint64_t value = safe_string(pprof, words);

	dump_proto_u64(&pprof->inner, LABEL_KEY, string_of(pprof, key));
	dump_proto_u64(&pprof->inner, LABEL_STRING, value);
	dump_proto_message(labels, SAMPLE_LABEL, &pprof->inner);
}

/* Returns the encoded labels of a group of threads. Encodes them at the first use. */
static const struct ptl_bytes *labels_of(struct pprof *pprof, uint32_t group)
{
	const struct analysis_path_root *root = &pprof->paths->roots[group];
	struct ptl_bytes *labels = &pprof->labels[group];

	if (labels->size)
		return labels;
	if (*root->program)
		put_text_label(pprof, labels, "process", root->program);
	if (root->pid != PTL_NO_ID)
		put_number_label(pprof, labels, "pid", root->pid);
	if (root->tid != PTL_NO_ID)
		put_number_label(pprof, labels, "tid", root->tid);
	if (root->cpu != PTL_NO_CPU)
		put_number_label(pprof, labels, "cpu", root->cpu);
	pprof->bytes.failed |= labels->failed;
	return labels;
}

static bool grow_tail(struct tail *tail)
{
	const size_t capacity = tail->capacity ? tail->capacity * 2 : 1024;
	uint8_t *data = malloc(capacity);

	if (!data)
		return false;
	if (tail->size)
		memcpy(data + capacity - tail->size, tail->data + tail->capacity - tail->size, tail->size);
	free(tail->data);
	tail->data = data;
	tail->capacity = capacity;
	return true;
}

static bool extend_tail(struct tail *tail, uint64_t location)
{
	const size_t size = common_varint_size(location);

	if (tail->capacity - tail->size < size && !grow_tail(tail))
		return false;
	tail->size += size;
	dump_proto_varint_at(tail->data + tail->capacity - tail->size, location);
	return true;
}

/* Sets the tail to the callees of node `at`, which may be a root. Returns 0 or PTL_NO_MEMORY. */
static int enter_path(struct pprof *pprof, uint32_t at)
{
	struct dump_path_step *steps;
	size_t first;
	const int status = dump_path_trail_enter(&pprof->trail, at, &first);

	if (status < 0)
		return status;
	steps = pprof->trail.steps;
	pprof->tail.size = first ? steps[first - 1].end : 0;
	for (size_t i = first ? first : 1; i < pprof->trail.count; i++) {
		if (!extend_tail(&pprof->tail, pprof->ids[steps[i].node]))
			return common_fail_memory("a path of calls", pprof->tail.size);
		steps[i].end = pprof->tail.size;
	}
	return 0;
}

static size_t bytes_size(size_t size)
{
	return 1 + common_varint_size(size) + size;
}

/* Encodes a sample in place: samples are as many as paths, and as long as their path. */
static void write_sample(struct pprof *pprof, uint64_t location, const uint64_t values[VALUES],
			 const struct ptl_bytes *labels)
{
	const struct tail *tail = &pprof->tail;
	const size_t locations = common_varint_size(location) + tail->size;
	size_t numbers = 0, size;
	uint8_t *at;

	for (int i = pprof->types.first; i < pprof->types.last; i++)
		numbers += common_varint_size(dump_export_signed(values[i]));
	size = bytes_size(locations) + bytes_size(numbers) + labels->size;
	at = common_bytes_grow(&pprof->bytes, bytes_size(size));
	if (!at)
		return;
	at = dump_proto_bytes_at(at, PROFILE_SAMPLE, size);
	at = dump_proto_bytes_at(at, SAMPLE_LOCATION, locations);
	at = dump_proto_varint_at(at, location);
	if (tail->size)
		memcpy(at, tail->data + tail->capacity - tail->size, tail->size);
	at = dump_proto_bytes_at(at + tail->size, SAMPLE_VALUE, numbers);
	for (int i = pprof->types.first; i < pprof->types.last; i++)
		at = dump_proto_varint_at(at, dump_export_signed(values[i]));
	if (labels->size)
		memcpy(at, labels->data, labels->size);
}

/* Writes a sample for the path of node `at`, with its last function at this location. Returns 0 or PTL_NO_MEMORY. */
static int put_sample(struct pprof *pprof, size_t at, uint64_t location, const uint64_t values[VALUES])
{
	const struct analysis_path_node *nodes = pprof->paths->tree.nodes;
	const int status = enter_path(pprof, nodes[at].parent);

	if (status == 0)
		write_sample(pprof, location, values, labels_of(pprof, nodes[pprof->trail.steps[0].node].function));
	return status;
}

/* ---- lines --------------------------------------------------------------------------------------- */

static int add_share(struct pprof *pprof, uint32_t line, uint64_t instructions)
{
	const int status = COMMON_VECTOR_RESERVE(pprof->shares, pprof->share_capacity, pprof->share_count + 1, "lines");

	if (status == 0)
		pprof->shares[pprof->share_count++] = (struct share){.left = instructions, .line = line};
	return status;
}

/* Adds the shares of a function. instructions: self instructions of all its paths. */
static int add_shares(struct pprof *pprof, uint32_t function, uint64_t instructions)
{
	const size_t first = pprof->share_count;
	const char *path;
	uint32_t start;
	size_t count;
	const struct dump_line_count *lines = dump_line_counts_of(&pprof->counts, function, instructions, &count);
	int status;

	if (!count || !dump_function_line(&pprof->lines, analysis_function(pprof->paths->calls->functions, function),
					  &path, &start))
		return 0;
	status = add_share(pprof, 0, instructions);
	/* A line of another file cannot be a line of the function. */
	for (size_t i = 0; status == 0 && i < count; i++) {
		if (strcmp(lines[i].file, path) != 0)
			continue;
		status = add_share(pprof, lines[i].line, lines[i].instructions);
		pprof->shares[first].left -= lines[i].instructions;
	}
	if (status == 0)
		*analysis_path_number(&pprof->functions, function) = (uint32_t)first + 1;
	pprof->shares[first].count = (uint32_t)(pprof->share_count - first);
	pprof->shares[first].next = 1;
	return status;
}

static int make_shares(struct pprof *pprof)
{
	const struct analysis_path_tree *tree = &pprof->paths->tree;
	struct common_hash_map sums = {0};
	uint64_t function, sum;
	size_t at = 0;
	int status = dump_line_counts_make(&pprof->counts, &pprof->lines, true);

	for (size_t i = 1; status == 0 && i < tree->count; i++) {
		const struct analysis_path_node *node = &tree->nodes[i];
		const uint64_t *known = common_hash_map_get(&sums, node->function);

		if (node->parent && node->function != ANALYSIS_NO_FUNCTION)
			status = common_hash_map_put(&sums, node->function,
						     (known ? *known : 0) + node->self_instructions);
	}
	while (status == 0 && common_hash_map_next(&sums, &at, &function, &sum))
		status = add_shares(pprof, (uint32_t)function, sum);
	common_hash_map_free(&sums);
	return status;
}

static uint64_t location_of(struct pprof *pprof, struct share *share, size_t node)
{
	const struct analysis_function *function = analysis_function(pprof->paths->calls->functions,
								     pprof->paths->tree.nodes[node].function);
	const uint64_t mapping = mapping_of(pprof, function->path);

	if (!share->line)
		return pprof->ids[node];
	if (share->location)
		return share->location;
	share->location = ++pprof->location_count;
	dump_proto_u64(&pprof->message, LOCATION_ID, share->location);
	if (mapping)
		dump_proto_u64(&pprof->message, LOCATION_MAPPING, mapping);
	dump_proto_u64(&pprof->inner, LINE_FUNCTION, pprof->ids[node]);
	dump_proto_u64(&pprof->inner, LINE_LINE, share->line);
	dump_proto_message(&pprof->message, LOCATION_LINE, &pprof->inner);
	dump_proto_message(&pprof->bytes, PROFILE_LOCATION, &pprof->message);
	return share->location;
}

/* Takes at most `most` instructions from a share. */
static uint64_t take_share(struct share *share, uint64_t most)
{
	const uint64_t amount = share->left < most ? share->left : most;

	share->left -= amount;
	return amount;
}

/*
 * Writes the samples of a path by line. The paths on which a line ran are unknown, so each path takes lines in order.
 * Sums by function, by line and by path are correct. The number of samples is at most paths plus lines, not their
 * product.
 */
static int put_line_samples(struct pprof *pprof, size_t at, struct share *shares)
{
	const struct analysis_path_node *node = &pprof->paths->tree.nodes[at];
	const uint64_t first = take_share(shares, node->self_instructions);
	uint64_t left = node->self_instructions - first;
	int status = 0;

	if (node->calls || first || node->self_time)
		status = put_sample(pprof, at, pprof->ids[at],
				    (const uint64_t[3]){node->calls, first, node->self_time});
	while (status == 0 && left && shares->next < shares->count) {
		struct share *share = &shares[shares->next];
		const uint64_t amount = take_share(share, left);

		if (amount)
			status = put_sample(pprof, at, location_of(pprof, share, at),
					    (const uint64_t[3]){0, amount, 0});
		left -= amount;
		shares->next += !share->left;
	}
	return status;
}

static int put_samples(struct pprof *pprof)
{
	const struct analysis_path_tree *tree = &pprof->paths->tree;
	int status = 0;

	for (size_t i = 1; status == 0 && i < tree->count; i++) {
		const struct analysis_path_node *node = &tree->nodes[i];
		uint32_t first;

		if (!node->parent || !(node->calls || node->self_instructions || node->self_time))
			continue;
		first = *analysis_path_number(&pprof->functions, node->function);
		if (first && node->self_instructions)
			status = put_line_samples(pprof, i, &pprof->shares[first - 1]);
		else
			status = put_sample(pprof, i, pprof->ids[i],
					    (const uint64_t[3]){node->calls, node->self_instructions, node->self_time});
		if (status == 0)
			status = flush_samples(pprof, false);
	}
	return status;
}

/* ---- the profile --------------------------------------------------------------------------------- */

/* Returns the names and units of the values. */
static struct types types_of(const struct analysis_samples *samples, bool by_time)
{
	struct types types = {
		.names = {"calls", "instructions", "time"},
		.units = {"count", "count", "nanoseconds"},
		.last = VALUES,
		.chosen = by_time ? 2 : 1,
	};

	if (!samples->count)
		return types;
	types.names[1] = "samples";
	types.names[2] = samples->name;
	types.units[2] = samples->in_time ? "nanoseconds" : "count";
	types.first = 1;
	types.last = samples->timed ? VALUES : 2;
	return types;
}

static void put_head(struct pprof *pprof, struct dump_left_out *left_out)
{
	const struct ptl_machine *machine = ptl_trace_machine(pprof->run->trace);
	const struct types *types = &pprof->types;
	const char *words = dump_left_out_text(left_out);

	string_of(pprof, "");
	for (int i = types->first; i < types->last; i++)
		put_type(pprof, types->names[i], types->units[i]);
	dump_proto_u64(&pprof->bytes, PROFILE_DEFAULT_TYPE, string_of(pprof, types->names[types->chosen]));
	dump_proto_u64(&pprof->bytes, PROFILE_COMMENT, string_of(pprof, "ptl-dump " COMMON_VERSION));
	if (words) {
		pprof->text.size = 0;
		common_text_add(&pprof->text, "left out: ");
		common_text_add(&pprof->text, words);
		dump_proto_u64(&pprof->bytes, PROFILE_COMMENT, string_of(pprof, common_text_string(&pprof->text)));
	}
	/* pprof shows the first mapping as the profiled program. */
	mapping_of(pprof, pprof->run->path);
	if (machine->wall_start > 0)
		dump_proto_i64(&pprof->bytes, PROFILE_TIME, machine->wall_start);
	if (machine->end_time > machine->start_time)
		dump_proto_u64(&pprof->bytes, PROFILE_DURATION,
			       dump_export_signed(machine->end_time - machine->start_time));
}

int dump_pprof(struct dump_run *run, const struct dump_path_run *path_run, bool by_time, bool by_line,
	       struct dump_left_out *left_out)
{
	const struct analysis_paths *paths = &path_run->paths;
	struct pprof pprof = {.run = run, .paths = paths, .types = types_of(&path_run->samples, by_time)};
	int status = dump_gzip_open(&pprof.gzip, run);

	pprof.ids = calloc(paths->tree.count + 1, sizeof(*pprof.ids));
	pprof.labels = calloc(paths->root_count + 1, sizeof(*pprof.labels));
	if (status == 0)
		status = dump_function_lines_open(&pprof.lines, paths->calls);
	if (status == 0 && !(pprof.ids && pprof.labels))
		status = common_fail_memory("paths of calls", paths->tree.count * sizeof(*pprof.ids));
	if (status == 0)
		status = dump_path_trail_open(&pprof.trail, &paths->tree);
	if (status == 0)
		status = analysis_path_numbers_open(&pprof.functions, paths);
	if (status == 0 && by_line)
		status = make_shares(&pprof);
	if (status == 0) {
		put_head(&pprof, left_out);
		status = put_functions(&pprof);
	}
	if (status == 0)
		status = put_samples(&pprof);
	if (status == 0)
		status = flush_samples(&pprof, true);
	dump_gzip_close(&pprof.gzip);
	dump_function_lines_close(&pprof.lines);
	dump_line_counts_free(&pprof.counts);
	free(pprof.shares);
	analysis_path_numbers_close(&pprof.functions);
	dump_path_trail_close(&pprof.trail);
	free(pprof.tail.data);
	for (size_t i = 0; pprof.labels && i < paths->root_count; i++)
		common_bytes_free(&pprof.labels[i]);
	free(pprof.labels);
	free(pprof.ids);
	common_byte_map_free(&pprof.strings);
	common_byte_map_free(&pprof.mappings);
	common_bytes_free(&pprof.bytes);
	common_bytes_free(&pprof.message);
	common_bytes_free(&pprof.inner);
	common_bytes_free(&pprof.text);
	return status;
}
