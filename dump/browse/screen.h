/* SPDX-License-Identifier: BSD-2-Clause */
/* The terminal as lines and keys: the part of ncurses that browse uses. */
#ifndef DUMP_BROWSE_SCREEN_H
#define DUMP_BROWSE_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

enum dump_browse_style {
	DUMP_BROWSE_PLAIN,
	DUMP_BROWSE_BOLD,
	DUMP_BROWSE_DIM,
	DUMP_BROWSE_CURSOR,
	DUMP_BROWSE_BAR, /* first and last line of the screen */
};

/* Keys without a character. */
enum dump_browse_key {
	DUMP_BROWSE_UP = 0x100000,
	DUMP_BROWSE_DOWN,
	DUMP_BROWSE_LEFT,
	DUMP_BROWSE_RIGHT,
	DUMP_BROWSE_PAGE_UP,
	DUMP_BROWSE_PAGE_DOWN,
	DUMP_BROWSE_HOME,
	DUMP_BROWSE_END,
	DUMP_BROWSE_ENTER,
	DUMP_BROWSE_BACKSPACE,
	DUMP_BROWSE_ESCAPE,
	DUMP_BROWSE_RESIZED,
	DUMP_BROWSE_GONE, /* the terminal has gone */
	DUMP_BROWSE_OTHER,
};

/*
 * Takes control of the terminal on standard input and output, and holds back output to stderr. Returns PTL_MISUSE if
 * standard input or output is no suitable terminal, or PTL_SYSTEM.
 */
int dump_browse_screen_start(void);
/* Restores the terminal, and prints the output that was held back. */
void dump_browse_screen_end(void);

int dump_browse_screen_height(void);
int dump_browse_screen_width(void);

void dump_browse_screen_clear(void);
/* Draws a whole line, cut at the screen's edge. words: UTF-8, safe for a terminal. */
void dump_browse_screen_line(int y, enum dump_browse_style style, const char *words);
/* Updates the terminal with everything drawn so far. */
void dump_browse_screen_show(void);
/* Waits for a key. Returns a character or an enum dump_browse_key. */
int dump_browse_screen_key(void);

#endif
