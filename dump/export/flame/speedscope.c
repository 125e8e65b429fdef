/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes paths of calls as JSON for speedscope: https://www.speedscope.app/file-format-schema.json */
#include "dump/export/flame/speedscope.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text/text.h"
#include "common/version.h"
#include "dump/export/path_trail.h"

struct speedscope {
	struct dump_run *run;
	const struct dump_path_run *path_run;
	const struct analysis_paths *paths;
	bool by_time;
	uint32_t *roots;  /* by node: its root */
	uint32_t *frames; /* by node: number of its frame in the output */
	struct dump_path_trail trail;
	struct ptl_bytes stack; /* text of the trail: frames from the outermost, each followed by a comma */
};

static uint64_t value_of(const struct speedscope *scope, const struct analysis_path_node *node)
{
	return scope->by_time ? node->self_time : node->self_instructions;
}

static bool is_in_time(const struct speedscope *scope)
{
	return scope->by_time && (!scope->path_run->samples.count || scope->path_run->samples.in_time);
}

/* ---- frames -------------------------------------------------------------------------------------- */

static void write_frame(const struct speedscope *scope, uint32_t number, struct ptl_bytes *text)
{
	const struct analysis_function *function = analysis_function(scope->paths->calls->functions, number);
	struct common_json *json = &scope->run->json_out;

	text->size = 0;
	analysis_path_function_text(scope->paths, number, text);
	common_json_object(json, NULL);
	common_json_string(json, "name", common_text_string(text));
	if (*function->path)
		common_json_string(json, "file", function->path);
	common_json_object_end(json);
}

/* Numbers functions in the order of the nodes: their own numbers may differ in the next run. */
static void number_frames(struct speedscope *scope, const struct analysis_path_numbers *known, struct ptl_bytes *text)
{
	const struct analysis_path_tree *tree = &scope->paths->tree;
	uint32_t count = 0;

	for (size_t i = 1; i < tree->count; i++) {
		const struct analysis_path_node *node = &tree->nodes[i];
		uint32_t *number = analysis_path_number(known, node->function);

		scope->roots[i] = node->parent ? scope->roots[node->parent] : (uint32_t)i;
		if (!node->parent)
			continue;
		if (!*number) {
			write_frame(scope, node->function, text);
			*number = ++count;
		}
		scope->frames[i] = *number - 1;
	}
}

static int write_frames(struct speedscope *scope)
{
	struct analysis_path_numbers known = {0};
	struct ptl_bytes text = {0};
	int status = analysis_path_numbers_open(&known, scope->paths);

	common_json_object(&scope->run->json_out, "shared");
	common_json_array(&scope->run->json_out, "frames");
	if (status == 0)
		number_frames(scope, &known, &text);
	common_json_array_end(&scope->run->json_out);
	common_json_object_end(&scope->run->json_out);
	if (status == 0 && text.failed)
		status = common_fail_memory("names", text.size);
	common_bytes_free(&text);
	analysis_path_numbers_close(&known);
	return status;
}

/* ---- profiles ------------------------------------------------------------------------------------ */

/* Sets the trail to a node. Self values of a root belong to no function. */
static int enter_path(struct speedscope *scope, uint32_t at)
{
	struct dump_path_step *steps;
	size_t first;
	const int status = dump_path_trail_enter(&scope->trail, at, &first);

	if (status < 0)
		return status;
	steps = scope->trail.steps;
	scope->stack.size = first ? steps[first - 1].end : 0;
	for (size_t i = first ? first : 1; i < scope->trail.count; i++) {
		common_text_decimal(&scope->stack, scope->frames[steps[i].node]);
		common_write_bytes(&scope->stack, ",", 1);
		steps[i].end = scope->stack.size;
	}
	return scope->stack.failed ? common_fail_memory("a path of calls", scope->stack.size) : 0;
}

static int write_stack(struct speedscope *scope, uint32_t at)
{
	struct ptl_bytes *stack = &scope->stack;
	const int status = enter_path(scope, at);

	if (status < 0)
		return status;
	common_json_array(&scope->run->json_out, NULL);
	if (stack->size)
		common_json_raw(&scope->run->json_out, NULL, (const char *)stack->data, stack->size - 1);
	common_json_array_end(&scope->run->json_out);
	return 0;
}

/* Writes the profile of a root. next: links the nodes of each root. */
static int write_profile(struct speedscope *scope, uint32_t root, const uint32_t *next)
{
	const struct analysis_path_node *nodes = scope->paths->tree.nodes;
	struct common_json *json = &scope->run->json_out;
	struct ptl_bytes name = {0};
	uint64_t sum = 0;
	int status = 0;

	analysis_path_root_text(scope->paths, nodes[root].function, &name);
	common_json_object(json, NULL);
	common_json_string(json, "type", "sampled");
	common_json_string(json, "name", common_text_string(&name));
	common_json_string(json, "unit", is_in_time(scope) ? "nanoseconds" : "none");
	common_json_array(json, "samples");
	for (uint32_t at = root; status == 0 && at; at = next[at])
		if (value_of(scope, &nodes[at]))
			status = write_stack(scope, at);
	common_json_array_end(json);
	common_json_array(json, "weights");
	for (uint32_t at = root; at; at = next[at])
		if (value_of(scope, &nodes[at])) {
			common_json_u64(json, NULL, value_of(scope, &nodes[at]));
			sum += value_of(scope, &nodes[at]);
		}
	common_json_array_end(json);
	common_json_u64(json, "startValue", 0);
	common_json_u64(json, "endValue", sum);
	common_json_object_end(json);
	common_bytes_free(&name);
	return status == 0 ? dump_output_check(scope->run) : status;
}

static int write_profiles(struct speedscope *scope)
{
	const struct analysis_path_tree *tree = &scope->paths->tree;
	const size_t count = tree->count;
	uint32_t *next = calloc(2 * count + 1, sizeof(*next));
	uint32_t *last = next ? next + count : NULL;
	int status = next ? 0 : common_fail_memory("paths of calls", 2 * count * sizeof(*next));

	common_json_array(&scope->run->json_out, "profiles");
	for (size_t i = 1; status == 0 && i < count; i++) {
		const uint32_t root = scope->roots[i];

		if (root != i)
			next[last[root]] = (uint32_t)i;
		last[root] = (uint32_t)i;
	}
	for (size_t i = 1; status == 0 && i < count; i++)
		if (!tree->nodes[i].parent)
			status = write_profile(scope, (uint32_t)i, next);
	common_json_array_end(&scope->run->json_out);
	free(next);
	return status;
}

static int write_speedscope(struct speedscope *scope, struct dump_left_out *left_out)
{
	struct common_json *json = &scope->run->json_out;
	const char *words = dump_left_out_text(left_out);
	struct ptl_bytes name = {0};
	int status;

	common_text_safe(&name, scope->run->path);
	if (scope->path_run->samples.count)
		common_text_format(&name, ": %s of %s", scope->by_time ? "periods" : "samples",
				   scope->path_run->samples.name);
	if (words)
		common_text_format(&name, " (left out: %s)", words);
	common_json_object(json, NULL);
	common_json_string(json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	common_json_string(json, "name", common_text_string(&name));
	common_json_string(json, "exporter", "ptl-dump " COMMON_VERSION);
	status = write_frames(scope);
	if (status == 0)
		status = write_profiles(scope);
	common_json_object_end(json);
	common_json_line(json);
	common_bytes_free(&name);
	return status;
}

int dump_speedscope(struct dump_run *run, const struct dump_path_run *path_run, bool by_time,
		    struct dump_left_out *left_out)
{
	struct speedscope scope = {.run = run, .path_run = path_run, .paths = &path_run->paths, .by_time = by_time};
	const size_t count = path_run->paths.tree.count;
	int status;

	scope.roots = calloc(count + 1, sizeof(*scope.roots));
	scope.frames = calloc(count + 1, sizeof(*scope.frames));
	status = scope.roots && scope.frames ? dump_path_trail_open(&scope.trail, &path_run->paths.tree)
					     : common_fail_memory("paths of calls", count * sizeof(*scope.roots));
	if (status == 0)
		status = write_speedscope(&scope, left_out);
	dump_path_trail_close(&scope.trail);
	common_bytes_free(&scope.stack);
	free(scope.roots);
	free(scope.frames);
	return status;
}
