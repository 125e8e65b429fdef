/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of covered lines, branches and functions. Repeated items are merged, and their counts added. */
#include "analysis/coverage/coverage.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"
#include "query/glob.h"

/* ---- files --------------------------------------------------------------------------------------- */

/*
 * Simplifies "/a/./b/../c" to "/a/c": one file has one name, whatever folder the compiler ran in. Lexical, without disk
 * access.
 */
static char *plain_path(const char *path)
{
	char *plain = malloc(strlen(path) + 1);
	size_t size = 0;

	if (!plain)
		return NULL;
	while (*path) {
		const char *slash = strchr(path, '/');
		const size_t part = slash ? (size_t)(slash - path) : strlen(path);
		const char *last;

		plain[size] = 0;
		last = strrchr(plain, '/');
		if (part == 2 && memcmp(path, "..", 2) == 0 && last && strcmp(last, "/..") != 0) {
			size = (size_t)(last - plain);
		} else if ((part || !size) && !(part == 1 && *path == '.')) {
			if (size && plain[size - 1] != '/')
				plain[size++] = '/';
			memcpy(plain + size, path, part);
			size += part;
			if (!part)
				plain[size++] = '/';
		}
		path += part + (slash != NULL);
	}
	plain[size] = 0;
	return plain;
}

static bool is_wanted_path(const struct analysis_coverage *coverage, const char *path)
{
	bool wanted = !coverage->sources || !coverage->sources->count;

	for (size_t i = 0; !wanted && i < coverage->sources->count; i++)
		wanted = query_glob_path(coverage->sources->list[i], path);
	return wanted && (!coverage->changes || analysis_changes_file(coverage->changes, path));
}

int analysis_coverage_file(struct analysis_coverage *coverage, const char *path, uint32_t *file)
{
	const uint64_t *known = common_byte_map_get(&coverage->by_path, path, strlen(path)), *same;
	char *plain;
	int status = 0;

	*file = known ? (uint32_t)*known : FLOW_NONE;
	if (known)
		return 0;
	plain = plain_path(path);
	if (!plain || !common_vector_room(&coverage->files, coverage->file_count, sizeof(*coverage->files))) {
		free(plain);
		return common_fail_memory("files", strlen(path));
	}
	same = common_byte_map_get(&coverage->by_path, plain, strlen(plain));
	if (same) {
		*file = (uint32_t)*same;
		free(plain);
	} else if (!is_wanted_path(coverage, plain)) {
		free(plain);
	} else {
		*file = (uint32_t)coverage->file_count++;
		coverage->files[*file] = (struct analysis_covered_file){.path = plain};
		status = common_byte_map_put(&coverage->by_path, plain, strlen(plain), *file);
	}
	return status ? status : common_byte_map_put(&coverage->by_path, path, strlen(path), *file);
}

/* ---- contents of files --------------------------------------------------------------------------- */

int analysis_coverage_line(struct analysis_coverage *coverage, uint32_t file, uint32_t line, uint64_t count)
{
	const uint64_t key = (uint64_t)file << 32 | line;
	const uint64_t *known = common_hash_map_get(&coverage->by_line, key);
	int status;

	if (known) {
		coverage->lines[*known].count += count;
		return 0;
	}
	if (coverage->changes && !analysis_changes_line(coverage->changes, coverage->files[file].path, line))
		return 0;
	status = COMMON_VECTOR_RESERVE(coverage->lines, coverage->line_room, coverage->line_count + 1, "lines");
	if (status)
		return status;
	coverage->lines[coverage->line_count] = (struct analysis_covered_line){file, line, count};
	return common_hash_map_put(&coverage->by_line, key, coverage->line_count++);
}

int analysis_coverage_branch(struct analysis_coverage *coverage, const struct analysis_covered_branch *branch)
{
	const uint32_t key[3] = {branch->file, branch->line, branch->number};
	const uint64_t *known = common_byte_map_get(&coverage->by_place, key, sizeof(key));
	struct analysis_covered_branch *sum;
	int status = 0;

	if (coverage->changes &&
	    !analysis_changes_line(coverage->changes, coverage->files[branch->file].path, branch->line))
		return 0;
	if (!known) {
		status = COMMON_VECTOR_RESERVE(coverage->branches, coverage->branch_room, coverage->branch_count + 1,
					       "branches");
		if (status)
			return status;
		coverage->branches[coverage->branch_count] = *branch;
		return common_byte_map_put(&coverage->by_place, key, sizeof(key), coverage->branch_count++);
	}
	sum = &coverage->branches[*known];
	sum->count += branch->count;
	sum->taken += branch->taken;
	sum->not_taken += branch->not_taken;
	return 0;
}

int analysis_coverage_function(struct analysis_coverage *coverage, uint32_t file, uint32_t line, const char *name,
			       uint64_t count)
{
	struct ptl_bytes key = {0};
	const uint64_t *known;
	int status = 0;

	if (coverage->changes && !analysis_changes_line(coverage->changes, coverage->files[file].path, line))
		return 0;
	common_write_le(&key, file, 4);
	/* No key of a branch has this length. */
	common_write_bytes(&key, "function:", 9);
	common_write_bytes(&key, name, strlen(name));
	known = key.failed ? NULL : common_byte_map_get(&coverage->by_place, key.data, key.size);
	if (key.failed ||
	    (!known && !COMMON_VECTOR_GROW(coverage->functions, coverage->function_room, coverage->function_count + 1)))
		status = common_fail_memory("functions", strlen(name));
	if (!status && known) {
		coverage->functions[*known].count += count;
	} else if (!status) {
		struct analysis_covered_function *function = &coverage->functions[coverage->function_count];

		*function = (struct analysis_covered_function){file, line, strdup(name), count};
		status = function->name ? common_byte_map_put(&coverage->by_place, key.data, key.size,
							      coverage->function_count++)
					: common_fail_memory("functions", strlen(name));
	}
	common_bytes_free(&key);
	return status;
}

int analysis_coverage_leave_out(struct analysis_coverage *coverage, const char *image, uint64_t instructions)
{
	coverage->left_out += instructions;
	if (common_byte_map_get(&coverage->by_image, image, strlen(image)))
		return 0;
	if (!common_vector_room(&coverage->images, coverage->image_count, sizeof(*coverage->images)))
		return common_fail_memory("images", strlen(image));
	coverage->images[coverage->image_count] = strdup(image);
	if (!coverage->images[coverage->image_count])
		return common_fail_memory("images", strlen(image));
	return common_byte_map_put(&coverage->by_image, image, strlen(image), coverage->image_count++);
}

/* ---- order --------------------------------------------------------------------------------------- */

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_path(const void *a, const void *b, void *files)
{
	return strcmp(((const struct analysis_covered_file *)files)[*(const uint32_t *)a].path,
		      ((const struct analysis_covered_file *)files)[*(const uint32_t *)b].path);
}

static int by_line(const void *a_, const void *b_)
{
	const struct analysis_covered_line *a = a_, *b = b_;
	const int order = compare_numbers(a->file, b->file);

	return order ? order : compare_numbers(a->line, b->line);
}

static int by_branch(const void *a_, const void *b_)
{
	const struct analysis_covered_branch *a = a_, *b = b_;
	int order = compare_numbers(a->file, b->file);

	order = order ? order : compare_numbers(a->line, b->line);
	return order ? order : compare_numbers(a->number, b->number);
}

static int by_function(const void *a_, const void *b_)
{
	const struct analysis_covered_function *a = a_, *b = b_;
	int order = compare_numbers(a->file, b->file);

	order = order ? order : compare_numbers(a->line, b->line);
	return order ? order : strcmp(a->name, b->name);
}

/* Sorts the files by path, and renumbers them in all lists. */
static int sort_files(struct analysis_coverage *coverage)
{
	const size_t count = coverage->file_count;
	uint32_t *order = calloc(count + 1, sizeof(*order)), *place = calloc(count + 1, sizeof(*place));
	struct analysis_covered_file *sorted = calloc(count + 1, sizeof(*sorted));
	const bool good = order && place && sorted;

	for (uint32_t i = 0; good && i < count; i++)
		order[i] = i;
	if (good && count)
		qsort_r(order, count, sizeof(*order), by_path, coverage->files);
	for (uint32_t i = 0; good && i < count; i++) {
		sorted[i] = coverage->files[order[i]];
		place[order[i]] = i;
	}
	for (size_t i = 0; good && i < coverage->line_count; i++)
		coverage->lines[i].file = place[coverage->lines[i].file];
	for (size_t i = 0; good && i < coverage->branch_count; i++)
		coverage->branches[i].file = place[coverage->branches[i].file];
	for (size_t i = 0; good && i < coverage->function_count; i++)
		coverage->functions[i].file = place[coverage->functions[i].file];
	if (good) {
		free(coverage->files);
		coverage->files = sorted;
	} else {
		free(sorted);
	}
	free(order);
	free(place);
	return good ? 0 : common_fail_memory("files", count * sizeof(*sorted));
}

/* Sets each file's sections of the lists. */
static void divide(struct analysis_coverage *coverage)
{
	for (size_t i = coverage->line_count; i-- > 0;) {
		coverage->files[coverage->lines[i].file].lines = &coverage->lines[i];
		coverage->files[coverage->lines[i].file].line_count++;
	}
	for (size_t i = coverage->branch_count; i-- > 0;) {
		coverage->files[coverage->branches[i].file].branches = &coverage->branches[i];
		coverage->files[coverage->branches[i].file].branch_count++;
	}
	for (size_t i = coverage->function_count; i-- > 0;) {
		coverage->files[coverage->functions[i].file].functions = &coverage->functions[i];
		coverage->files[coverage->functions[i].file].function_count++;
	}
}

int analysis_coverage_finish(struct analysis_coverage *coverage)
{
	const int status = sort_files(coverage);

	if (status)
		return status;
	if (coverage->line_count)
		qsort(coverage->lines, coverage->line_count, sizeof(*coverage->lines), by_line);
	if (coverage->branch_count)
		qsort(coverage->branches, coverage->branch_count, sizeof(*coverage->branches), by_branch);
	if (coverage->function_count)
		qsort(coverage->functions, coverage->function_count, sizeof(*coverage->functions), by_function);
	divide(coverage);
	return 0;
}

void analysis_coverage_sum(const struct analysis_covered_file *file, struct analysis_coverage_sum *sum)
{
	sum->lines += file->line_count;
	sum->functions += file->function_count;
	sum->branches += 2 * file->branch_count;
	for (size_t i = 0; i < file->line_count; i++)
		sum->lines_run += file->lines[i].count > 0;
	for (size_t i = 0; i < file->function_count; i++)
		sum->functions_run += file->functions[i].count > 0;
	for (size_t i = 0; i < file->branch_count; i++)
		sum->branches_run += (file->branches[i].taken > 0) + (file->branches[i].not_taken > 0);
}

void analysis_coverage_free(struct analysis_coverage *coverage)
{
	for (size_t i = 0; i < coverage->file_count; i++)
		free(coverage->files[i].path);
	for (size_t i = 0; i < coverage->function_count; i++)
		free(coverage->functions[i].name);
	for (size_t i = 0; i < coverage->image_count; i++)
		free(coverage->images[i]);
	free(coverage->files);
	free(coverage->lines);
	free(coverage->branches);
	free(coverage->functions);
	free(coverage->images);
	common_byte_map_free(&coverage->by_path);
	common_byte_map_free(&coverage->by_image);
	common_hash_map_free(&coverage->by_line);
	common_byte_map_free(&coverage->by_place);
}
