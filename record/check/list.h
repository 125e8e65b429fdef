/* SPDX-License-Identifier: BSD-2-Clause */
/* What was found out about a machine, item by item. */
#ifndef RECORD_CHECK_LIST_H
#define RECORD_CHECK_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/bytes.h"

enum check_state {
	CHECK_NO,     /* missing, or not permitted */
	CHECK_PARTLY, /* there, within limits */
	CHECK_YES,
	CHECK_UNKNOWN, /* the system does not say */
};

struct check_item {
	const char *group; /* "Intel PT"; kept by pointer, as name is */
	const char *name;
	enum check_state state;
	const char *value;  /* what was found; NULL: nothing to say. Copied, as the others are */
	const char *why;    /* what that means, or what is missing */
	const char *remedy; /* the command or the step that changes it */
};

struct check_list {
	const char *root; /* the folder that has sys and proc; "" for this machine */
	struct check_item *items;
	size_t count;
	size_t capacity;
	bool failed; /* no memory: the list is not complete */
};

void check_list_free(struct check_list *list);
/* Copies the item's texts. */
void check_list_add(struct check_list *list, const struct check_item *item);

/* As a table, or a line of JSON for each item. What the system wrote is shown without control characters. */
void check_list_print(const struct check_list *list, FILE *file);
void check_list_print_json(const struct check_list *list, FILE *file);

/*
 * Reads a small text file below the root, at most size - 1 bytes, without the newline at its end, and puts a zero behind
 * it. false: it cannot be read, or is no regular file.
 */
bool check_read(const struct check_list *list, const char *path, char *text, size_t size);
/* A file that has one number and nothing else. */
bool check_read_number(const struct check_list *list, const char *path, int base, long long *value);
/* Whether there is such a file or folder. */
bool check_exists(const struct check_list *list, const char *path);

#endif
