/* SPDX-License-Identifier: BSD-2-Clause */
/* Flame graphs: folded stacks, and a picture. */
#ifndef DUMP_EXPORT_FLAME_FLAMEGRAPH_H
#define DUMP_EXPORT_FLAME_FLAMEGRAPH_H

#include "dump/export/export.h"
#include "dump/export/flame/flame_tree.h"

/* A line for each path: names from the outermost, separated by ";", a blank, what it took; two numbers of two traces. */
int dump_flame_folded(struct dump_session *session, const struct dump_flame_tree *tree, bool two);

struct dump_flame_look {
	const char *title; /* may be of any characters */
	const char *unit;  /* "instructions"; no markup */
	bool icicle;       /* the outermost calls are at the top */
	bool two;          /* the tree has two traces: widths are of the second, colours say what has changed */
	bool of_first;     /* widths are of the first */
};

/* An SVG picture that is complete by itself. Adds to left_out what it is too small for, and shows all of that. */
int dump_flame_svg(struct dump_session *session, const struct dump_flame_tree *tree, const struct dump_flame_look *look,
		   struct dump_left_out *left_out);

/* The script of the picture. */
extern const char dump_flame_script[];

#endif
