/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes folded stacks, for flamegraph.pl, inferno and speedscope. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text/text.h"
#include "dump/export/flame/flamegraph.h"

/*
 * Bytes per write. Each line repeats the names of all callers, so lines are the largest part of the memory, and are
 * written in pieces.
 */
#define PIECE ((size_t)128 << 10)

struct folded {
	struct dump_run *run;
	const struct dump_flame_tree *tree;
	struct ptl_bytes names;
	size_t *starts; /* start of each name in `names`, and the end of the last; owned */
	struct ptl_bytes path;
	struct ptl_bytes ends; /* ends of the current path's names in `path` */
	struct ptl_bytes lines;
};

/* Copies the names, with the separator ";" replaced. Names may contain all other characters. */
static int prepare_names(struct folded *folded)
{
	const struct dump_flame_tree *tree = folded->tree;

	folded->starts = calloc(tree->name_count + 1, sizeof(*folded->starts));
	if (!folded->starts)
		return common_fail_memory("names", tree->name_count * sizeof(*folded->starts));
	for (size_t i = 0; i < tree->name_count; i++) {
		common_text_add(&folded->names, tree->names[i]);
		folded->starts[i + 1] = folded->names.size;
	}
	for (size_t i = 0; i < folded->names.size; i++)
		if (folded->names.data[i] == ';')
			folded->names.data[i] = ':';
	return folded->names.failed ? common_fail_memory("names", folded->names.size) : 0;
}

/* Sets the path to a node. A node follows its parent, so the parent's path is the beginning of the current path. */
static void enter_path(struct folded *folded, const struct dump_flame_node *node)
{
	const size_t before = (size_t)(node->depth - 1) * sizeof(uint64_t);
	const size_t start = folded->starts[node->name];
	struct ptl_bytes *path = &folded->path;

	folded->ends.size = before;
	path->size = before ? (size_t)common_load64(folded->ends.data + before - sizeof(uint64_t)) : 0;
	if (path->size)
		common_write_bytes(path, ";", 1);
	common_write_bytes(path, folded->names.data + start, folded->starts[node->name + 1] - start);
	common_write_le(&folded->ends, path->size, sizeof(uint64_t));
}

static void add_number(struct ptl_bytes *lines, uint64_t number)
{
	common_write_bytes(lines, " ", 1);
	common_text_decimal(lines, number);
}

static void add_line(struct folded *folded, const struct dump_flame_node *node, bool two)
{
	common_write_bytes(&folded->lines, folded->path.data, folded->path.size);
	add_number(&folded->lines, node->self[0]);
	if (two)
		add_number(&folded->lines, node->self[1]);
	common_write_bytes(&folded->lines, "\n", 1);
}

static int write_lines(struct folded *folded)
{
	if (folded->path.failed || folded->ends.failed || folded->lines.failed)
		return common_fail_memory("a path of calls", folded->path.size);
	common_text_write(&folded->lines, folded->run->out);
	folded->lines.size = 0;
	return dump_output_check(folded->run);
}

static int write_folded(struct folded *folded, bool two)
{
	int status = prepare_names(folded);

	for (size_t i = 1; status == 0 && i < folded->tree->count && !folded->ends.failed; i++) {
		const struct dump_flame_node *node = &folded->tree->nodes[i];

		enter_path(folded, node);
		if (node->self[0] || node->self[1])
			add_line(folded, node, two);
		if (folded->lines.size >= PIECE)
			status = write_lines(folded);
	}
	return status == 0 ? write_lines(folded) : status;
}

int dump_flame_folded(struct dump_run *run, const struct dump_flame_tree *tree, bool two)
{
	struct folded folded = {.run = run, .tree = tree};
	const int status = write_folded(&folded, two);

	common_bytes_free(&folded.names);
	free(folded.starts);
	common_bytes_free(&folded.path);
	common_bytes_free(&folded.ends);
	common_bytes_free(&folded.lines);
	return status;
}
