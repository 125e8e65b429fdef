/* SPDX-License-Identifier: BSD-2-Clause */
/* The terminal as lines and keys: all that browse needs of ncurses. */
#ifndef DUMP_BROWSE_SCREEN_H
#define DUMP_BROWSE_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

enum dump_browse_style {
	DUMP_BROWSE_PLAIN,
	DUMP_BROWSE_BOLD,
	DUMP_BROWSE_DIM,
	DUMP_BROWSE_CURSOR,
	DUMP_BROWSE_BAR, /* the first and the last line */
};

/* Keys that are no characters. */
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
	DUMP_BROWSE_GONE, /* the terminal is */
	DUMP_BROWSE_OTHER,
};

/*
 * Takes the terminal of standard input and output, and keeps what is written to stderr until the end. PTL_MISUSE where that
 * is none, PTL_SYSTEM.
 */
int dump_browse_screen_start(void);
/* Gives it back, and shows what was written to stderr meanwhile. */
void dump_browse_screen_end(void);

int dump_browse_screen_height(void);
int dump_browse_screen_width(void);

void dump_browse_screen_clear(void);
/* A whole line, cut where the screen ends; words are UTF-8, made safe before. */
void dump_browse_screen_line(int y, enum dump_browse_style style, const char *words);
/* Shows what was drawn. */
void dump_browse_screen_show(void);
/* Waits for a key. */
int dump_browse_screen_key(void);

#endif
