/* SPDX-License-Identifier: BSD-2-Clause */
/* Folded stacks, as flamegraph.pl, inferno and speedscope read them. */
#include <inttypes.h>
#include <string.h>

#include "common/error.h"
#include "common/text.h"
#include "dump/export/flame/flamegraph.h"

/* The name with what separates names replaced: it may have any other character. */
static void add_name(struct ptl_bytes *path, const char *name)
{
	const size_t start = path->size;

	common_text_add(path, name);
	for (size_t i = start; i < path->size; i++)
		if (path->data[i] == ';')
			path->data[i] = ':';
}

/* Nodes come after their parents: what is in front of the last separator is their path. */
static void enter_path(const struct dump_flame_tree *tree, const struct dump_flame_node *node, struct ptl_bytes *path,
		       struct ptl_bytes *ends)
{
	const size_t before = (size_t)(node->depth - 1) * sizeof(uint64_t);

	ends->size = before;
	path->size = before ? (size_t)common_load64(ends->data + before - sizeof(uint64_t)) : 0;
	if (path->size)
		common_text_add(path, ";");
	add_name(path, dump_flame_name(tree, node));
	common_write_le(ends, path->size, sizeof(uint64_t));
}

int dump_flame_folded(struct dump_session *session, const struct dump_flame_tree *tree, bool two)
{
	struct ptl_bytes path = {0}, ends = {0};
	int status = 0;

	for (size_t i = 1; status == 0 && i < tree->count && !path.failed && !ends.failed; i++) {
		const struct dump_flame_node *node = &tree->nodes[i];

		enter_path(tree, node, &path, &ends);
		if (!node->self[0] && !node->self[1])
			continue;
		common_text_write(&path, session->out);
		fprintf(session->out, " %" PRIu64, node->self[0]);
		if (two)
			fprintf(session->out, " %" PRIu64, node->self[1]);
		fputc('\n', session->out);
		if (i % 1024 == 0)
			status = dump_output_check(session);
	}
	if (path.failed || ends.failed)
		status = common_fail_memory("a path of calls", path.size);
	common_bytes_free(&path);
	common_bytes_free(&ends);
	return status;
}
