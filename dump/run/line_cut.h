/* SPDX-License-Identifier: BSD-2-Clause */
/* Cuts the lines of a text to the width of a terminal, while the text is written in pieces of any size. */
#ifndef DUMP_RUN_LINE_CUT_H
#define DUMP_RUN_LINE_CUT_H

#include <stdbool.h>
#include <stddef.h>

struct dump_line_cut;

/* Returns false without memory. width: columns, at least 1. */
bool dump_line_cut_new(size_t width, struct dump_line_cut **cut);
void dump_line_cut_free(struct dump_line_cut *cut);

/*
 * Replaces a piece of text by its cut lines, valid until the next call. A cut line ends with ">". Escape sequences of
 * colours have no width, and remain behind the cut. Returns false without memory.
 */
bool dump_line_cut_add(struct dump_line_cut *cut, const char **data, size_t *size);

/* Returns the columns of the terminal of standard output; 0: no terminal, or its width is unknown. */
size_t dump_terminal_width(void);

#endif
