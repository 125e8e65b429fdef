/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads untrusted system files, and prints the results. */
#include "record/check/list.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text/json.h"
#include "common/text/text.h"

#define NAME_WIDTH 22
#define STATE_WIDTH 8

/* indexed by enum check_state */
static const char *const states[] = {"no", "partly", "yes", "unknown"};

static void free_item(struct check_item *item)
{
	free((char *)item->value);
	free((char *)item->why);
	free((char *)item->remedy);
}

void check_list_free(struct check_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free_item(&list->items[i]);
	free(list->items);
	*list = (struct check_list){.root = list->root};
}

static const char *copy_text(struct check_list *list, const char *text)
{
	char *made = text ? strdup(text) : NULL;

	if (text && !made)
		list->failed = true;
	return made;
}

void check_list_add(struct check_list *list, const struct check_item *item)
{
	struct check_item *added;

	if (list->count == list->capacity) {
		const size_t capacity = list->capacity ? list->capacity * 2 : 32;
		struct check_item *larger = reallocarray(list->items, capacity, sizeof(*larger));

		if (!larger) {
			list->failed = true;
			return;
		}
		list->items = larger;
		list->capacity = capacity;
	}
	added = &list->items[list->count++];
	*added = *item;
	added->value = copy_text(list, item->value);
	added->why = copy_text(list, item->why);
	added->remedy = copy_text(list, item->remedy);
}

/* ---- printing -------------------------------------------------------------------------------- */

static void add_line(struct ptl_bytes *text, const char *label, const char *words)
{
	if (!words)
		return;
	common_text_pad(text, text->size, 2 + NAME_WIDTH + STATE_WIDTH);
	common_text_add(text, label);
	common_text_safe(text, words);
	common_text_add(text, "\n");
}

static void add_item(struct ptl_bytes *text, const struct check_item *item)
{
	const size_t start = text->size;

	common_text_add(text, "  ");
	common_text_add(text, item->name);
	common_text_pad(text, start, 2 + NAME_WIDTH);
	common_text_add(text, states[item->state]);
	if (item->value) {
		common_text_pad(text, start, 2 + NAME_WIDTH + STATE_WIDTH);
		common_text_safe(text, item->value);
	}
	common_text_add(text, "\n");
	add_line(text, "", item->why);
	add_line(text, "try: ", item->remedy);
}

void check_list_print(const struct check_list *list, FILE *file)
{
	const char *group = "";
	struct ptl_bytes text = {0};

	for (size_t i = 0; i < list->count; i++) {
		const struct check_item *item = &list->items[i];

		if (strcmp(item->group, group) != 0) {
			common_text_add(&text, i ? "\n" : "");
			common_text_add(&text, item->group);
			common_text_add(&text, "\n");
		}
		group = item->group;
		add_item(&text, item);
	}
	common_text_write(&text, file);
	common_bytes_free(&text);
}

void check_list_print_json(const struct check_list *list, FILE *file)
{
	struct common_json json;

	common_json_start(&json, file);
	for (size_t i = 0; i < list->count; i++) {
		const struct check_item *item = &list->items[i];

		common_json_object(&json, NULL);
		common_json_string(&json, "group", item->group);
		common_json_string(&json, "name", item->name);
		common_json_string(&json, "state", states[item->state]);
		common_json_string(&json, "value", item->value);
		common_json_string(&json, "why", item->why);
		common_json_string(&json, "try", item->remedy);
		common_json_object_end(&json);
		common_json_line(&json);
	}
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Opens regular files only: the folder of another machine may hold a pipe, which would block. */
static int open_file(const struct check_list *list, const char *path)
{
	char name[PATH_MAX];
	struct stat info;
	int fd;

	if (snprintf(name, sizeof(name), "%s%s", list->root, path) >= (int)sizeof(name))
		return -1;
	fd = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode))) {
		close(fd);
		return -1;
	}
	return fd;
}

bool check_read(const struct check_list *list, const char *path, char *text, size_t size)
{
	const int fd = open_file(list, path);
	size_t used = 0;
	ssize_t n = 1;

	text[0] = 0;
	if (fd < 0)
		return false;
	while (used < size - 1 && (n = read(fd, text + used, size - 1 - used)) > 0)
		used += (size_t)n;
	close(fd);
	text[used] = 0;
	if (used && text[used - 1] == '\n')
		text[used - 1] = 0;
	return n >= 0;
}

bool check_read_number(const struct check_list *list, const char *path, int base, long long *value)
{
	char text[64], *end;

	if (!check_read(list, path, text, sizeof(text)) || !(isxdigit((unsigned char)text[0]) || text[0] == '-'))
		return false;
	errno = 0;
	*value = strtoll(text, &end, base);
	return !errno && end != text && !*end;
}

bool check_exists(const struct check_list *list, const char *path)
{
	char name[PATH_MAX];

	return snprintf(name, sizeof(name), "%s%s", list->root, path) < (int)sizeof(name) && access(name, F_OK) == 0;
}
