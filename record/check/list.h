/* SPDX-License-Identifier: BSD-2-Clause */
/* Results about a machine, item by item. */
#ifndef RECORD_CHECK_LIST_H
#define RECORD_CHECK_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/bytes.h"

enum check_state {
	CHECK_NO,     /* missing, or not permitted */
	CHECK_PARTLY, /* present, with limits */
	CHECK_YES,
	CHECK_UNKNOWN, /* the system gives no answer */
};

struct check_item {
	const char *group; /* such as "Intel PT"; the list keeps the pointers `group` and `name` */
	const char *name;
	enum check_state state;
	const char *value;  /* result; NULL: nothing to say. Copied, like `why` and `remedy` */
	const char *why;    /* meaning of the result, or cause */
	const char *remedy; /* command or step to change the result */
};

struct check_list {
	const char *root; /* folder with sys and proc; "" for this machine */
	struct check_item *items;
	size_t count;
	size_t capacity;
	bool failed; /* no memory: the list is incomplete */
};

void check_list_free(struct check_list *list);
/* Adds a copy of the item. */
void check_list_add(struct check_list *list, const struct check_item *item);

/* Prints a table, or a line of JSON per item. Removes control characters from texts of the system. */
void check_list_print(const struct check_list *list, FILE *file);
void check_list_print_json(const struct check_list *list, FILE *file);

/*
 * Reads at most size - 1 bytes of a small text file below the root, without the final newline, and adds a zero. Returns
 * false if the file is unreadable or not regular.
 */
bool check_read(const struct check_list *list, const char *path, char *text, size_t size);
/* Reads a file that consists of one number. */
bool check_read_number(const struct check_list *list, const char *path, int base, long long *value);
/* Checks whether a file or folder exists. */
bool check_exists(const struct check_list *list, const char *path);

#endif
