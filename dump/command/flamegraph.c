/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump flamegraph: where instructions or time went, by paths of calls, as folded stacks or a picture. */
#include "common/error.h"
#include "common/message.h"
#include "dump/command/commands.h"
#include "dump/export/flamegraph.h"
#include "dump/export/path_session.h"

struct flamegraph_options {
	struct dump_options shared; /* first: see dump/session/command.h */
	struct dump_path_options paths;
	bool folded;
	bool reverse;
};

static const struct common_option own_options[] = {
	{"", 0, NULL, "What is shown:"},
	DUMP_PATH_OPTIONS(struct flamegraph_options),
	{"folded", 0, NULL, "Lines of folded stacks, for other programs.",
	 COMMON_FLAG(struct flamegraph_options, folded)},
	{"reverse", 'r', NULL, "Paths from the function that ran to those that called it.",
	 COMMON_FLAG(struct flamegraph_options, reverse)},
	{NULL},
};

static int write_graph(struct dump_session *session, struct dump_flame_tree *tree, bool two,
		       struct dump_left_out *left_out)
{
	const int status = dump_flame_tree_sort(tree);

	dump_left_out_add(left_out, tree->cut_depth, "path too deep to be reversed ends early",
			  "paths too deep to be reversed end early");
	dump_left_out_add(left_out, tree->cut_nodes, "path of too many ends early", "paths of too many end early");
	dump_left_out_report(left_out);
	return status == 0 ? dump_flame_folded(session, tree, two) : status;
}

/* One trace, or two that are compared. */
static int run(struct dump_session *session)
{
	const struct flamegraph_options *options = (const struct flamegraph_options *)session->options;
	const size_t count = 1 + session->more_count;
	struct dump_path_session runs[2] = {0};
	struct dump_flame_tree tree = {.by_time = options->paths.by_time, .reverse = options->reverse};
	struct dump_left_out left_out = {0};
	int status = count > 2 ? common_fail(PTL_MISUSE, "two traces can be compared, not %zu", count) : 0;

	for (size_t i = 0; status == 0 && i < count; i++)
		status = dump_path_session_open(&runs[i], session, i ? session->more[i - 1] : NULL);
	for (size_t i = 0; status == 0 && i < count; i++) {
		status = dump_path_session_run(&runs[i], &options->paths);
		if (status == 0)
			status = dump_flame_tree_add(&tree, &runs[i].paths, i);
		dump_path_session_left_out(&runs[i], &left_out);
	}
	for (size_t i = 0; i < count && i < 2; i++)
		dump_path_session_close(&runs[i]);
	if (status == 0)
		status = write_graph(session, &tree, count == 2, &left_out);
	dump_left_out_free(&left_out);
	dump_flame_tree_free(&tree);
	return status == 0 && runs[1].damaged ? COMMON_EXIT_INPUT : status;
}

static const char examples[] = "ptl-dump flamegraph --folded a.ptl | flamegraph.pl > a.svg\n"
			       "ptl-dump flamegraph --folded --by time --process gzip build.ptl\n"
			       "ptl-dump flamegraph --folded old.ptl new.ptl    two numbers a path, for difffolded.pl";

const struct dump_command dump_command_flamegraph = {
	.name = "flamegraph",
	.many = true,
	.summary = "where instructions or time went, by paths of calls",
	.details = "Adds up what was executed by paths of calls.",
	.examples = examples,
	.takes = DUMP_EXPORT_TAKES,
	.options = own_options,
	.options_size = sizeof(struct flamegraph_options),
	.run = run,
};
