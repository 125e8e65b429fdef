/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump flamegraph: where instructions or time went, by paths of calls, as folded stacks or a picture. */
#include "common/error.h"
#include "common/message.h"
#include "common/text.h"
#include "dump/command/commands.h"
#include "dump/export/flame/flamegraph.h"
#include "dump/export/path_session.h"

struct flamegraph_options {
	struct dump_options shared; /* first: see dump/session/command.h */
	struct dump_path_options paths;
	bool folded;
	bool reverse;
	bool icicle;
	bool of_first;
};

static const char *const width_words[] = {"second", "first", NULL};

static const struct common_option own_options[] = {
	{"", 0, NULL, "What is shown:"},
	DUMP_PATH_OPTIONS(struct flamegraph_options),
	{"folded", 0, NULL, "Lines of folded stacks, for other programs.",
	 COMMON_FLAG(struct flamegraph_options, folded)},
	{"reverse", 'r', NULL, "Paths from the function that ran to those that called it.",
	 COMMON_FLAG(struct flamegraph_options, reverse)},
	{"icicle", 0, NULL, "The picture upside down: the outermost calls at the top.",
	 COMMON_FLAG(struct flamegraph_options, icicle)},
	{"widths", 0, "WHICH", "Of two traces, the one that widths are of (default: second).",
	 COMMON_CHOICE(struct flamegraph_options, of_first, width_words)},
	{NULL},
};

/* "gzip.ptl: instructions by path of calls". */
static void add_title(const struct dump_session *session, const struct flamegraph_options *options,
		      struct ptl_bytes *title)
{
	common_text_safe(title, session->path);
	if (session->more_count) {
		common_text_add(title, " -> ");
		common_text_safe(title, session->more[0]);
	}
	common_text_format(title, ": %s by %s", options->paths.by_time ? "time" : "instructions",
			   options->reverse ? "function and callers" : "path of calls");
}

static int write_picture(struct dump_session *session, const struct dump_flame_tree *tree,
			 struct dump_left_out *left_out)
{
	const struct flamegraph_options *options = (const struct flamegraph_options *)session->options;
	struct dump_flame_look look = {
		.unit = options->paths.by_time ? "ns" : "instructions",
		.icicle = options->icicle,
		.two = session->more_count,
		.of_first = options->of_first,
	};
	struct ptl_bytes title = {0};
	int status;

	add_title(session, options, &title);
	look.title = common_text_string(&title);
	status = dump_flame_svg(session, tree, &look, left_out);
	common_bytes_free(&title);
	return status;
}

static int write_graph(struct dump_session *session, struct dump_flame_tree *tree, struct dump_left_out *left_out)
{
	const struct flamegraph_options *options = (const struct flamegraph_options *)session->options;
	int status = dump_flame_tree_sort(tree);

	dump_left_out_add(left_out, tree->cut_depth, "path too deep to be reversed ends early",
			  "paths too deep to be reversed end early");
	dump_left_out_add(left_out, tree->cut_nodes, "path of too many ends early", "paths of too many end early");
	if (status == 0 && options->folded)
		status = dump_flame_folded(session, tree, session->more_count);
	else if (status == 0)
		status = write_picture(session, tree, left_out);
	dump_left_out_report(left_out);
	return status;
}

/* One trace, or two that are compared. */
static int run(struct dump_session *session)
{
	const struct flamegraph_options *options = (const struct flamegraph_options *)session->options;
	const size_t count = 1 + session->more_count;
	struct dump_path_session runs[2] = {0};
	struct dump_flame_tree tree = {.by_time = options->paths.by_time, .reverse = options->reverse};
	struct dump_left_out left_out = {0};
	int status = 0;

	if (count > 2)
		status = common_fail(PTL_MISUSE, "two traces can be compared, not %zu", count);
	else if (count < 2 && options->of_first)
		status = common_fail(PTL_MISUSE, "--widths needs a second trace, with which the first is compared");
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
		status = write_graph(session, &tree, &left_out);
	dump_left_out_free(&left_out);
	dump_flame_tree_free(&tree);
	return status == 0 && runs[1].damaged ? COMMON_EXIT_INPUT : status;
}

static const char examples[] = "ptl-dump flamegraph -o a.svg a.ptl             a picture, for a browser\n"
			       "ptl-dump flamegraph --by time --process gzip -o a.svg build.ptl\n"
			       "ptl-dump flamegraph -o change.svg old.ptl new.ptl    red: more than before\n"
			       "ptl-dump flamegraph --widths first -o gone.svg old.ptl new.ptl    with what is gone\n"
			       "ptl-dump flamegraph --folded a.ptl | flamegraph.pl > a.svg";

const struct dump_command dump_command_flamegraph = {
	.name = "flamegraph",
	.many = true,
	.summary = "where instructions or time went, by paths of calls",
	.details = "Writes a flame graph: an SVG picture in which each path of calls is as wide as what was executed "
		   "there, and which a browser zooms, searches and reverses. A second FILE is compared with the first.",
	.examples = examples,
	.takes = DUMP_EXPORT_TAKES,
	.options = own_options,
	.options_size = sizeof(struct flamegraph_options),
	.run = run,
};
