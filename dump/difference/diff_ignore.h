/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions, images and address ranges that a comparison ignores, since they always differ. */
#ifndef DUMP_DIFFERENCE_DIFF_IGNORE_H
#define DUMP_DIFFERENCE_DIFF_IGNORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dump_ignore_rule {
	char *pattern; /* glob pattern of a function name or of an image; owned */
	bool is_function, is_range;
	uint64_t first, last; /* addresses in the image's own address space, both inclusive; only for a range */
};

/* A zero-initialised list ignores nothing. */
struct dump_ignore {
	struct dump_ignore_rule *rules;
	size_t count;
	size_t functions; /* number of rules for functions */
};

/*
 * Adds a rule. "GLOB": functions. "image:GLOB": images by path or last component. "range:GLOB:0xFIRST..0xLAST":
 * addresses in such images. Returns PTL_MISUSE with a text, or PTL_NO_MEMORY.
 */
int dump_ignore_add(struct dump_ignore *ignore, const char *text, size_t size);
/*
 * Adds a rule from each line; "#" begins a comment. name: what messages call the text. Returns PTL_MISUSE with the
 * place of the error.
 */
int dump_ignore_parse(struct dump_ignore *ignore, const char *name, const char *text, size_t size);
int dump_ignore_read(struct dump_ignore *ignore, const char *path);
void dump_ignore_free(struct dump_ignore *ignore);

bool dump_ignores_function(const struct dump_ignore *ignore, const char *name);
/* Whether a whole image, or an address in the image, is ignored. */
bool dump_ignores_image(const struct dump_ignore *ignore, const char *path);
bool dump_ignores_address(const struct dump_ignore *ignore, const char *path, uint64_t address);

#endif
