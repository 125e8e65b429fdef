/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes flame graphs: folded stacks and pictures. */
#ifndef DUMP_EXPORT_FLAME_FLAMEGRAPH_H
#define DUMP_EXPORT_FLAME_FLAMEGRAPH_H

#include "dump/export/export.h"
#include "dump/export/flame/flame_tree.h"

/*
 * Writes a line per path: names from the outermost, separated by ";", a blank, and the value. two: two values, of both
 * traces.
 */
int dump_flame_folded(struct dump_run *run, const struct dump_flame_tree *tree, bool two);

struct dump_flame_look {
	const char *title; /* any characters */
	const char *unit;  /* "instructions"; without markup */
	bool icicle;       /* outermost calls are at the top */
	bool two;          /* the tree has two traces: widths show the second, colours show changes */
	bool of_first;     /* widths show the first trace */
};

/*
 * Writes a self-contained SVG picture. Adds frames that are too narrow to left_out, and includes the text of left_out
 * in the picture.
 */
int dump_flame_svg(struct dump_run *run, const struct dump_flame_tree *tree, const struct dump_flame_look *look,
		   struct dump_left_out *left_out);

/* The script of the picture. */
extern const char dump_flame_script[];

#endif
