/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions, images and address ranges that a comparison ignores, since they always differ. */
#ifndef ANALYSIS_DIFFERENCE_DIFF_IGNORE_H
#define ANALYSIS_DIFFERENCE_DIFF_IGNORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct analysis_ignore_rule {
	char *pattern; /* glob pattern of a function name or of an image; owned */
	bool is_function, is_range;
	uint64_t first, last; /* addresses in the image's own address space, both inclusive; only for a range */
};

/* A zero-initialised list ignores nothing. */
struct analysis_ignore {
	struct analysis_ignore_rule *rules;
	size_t count;
	size_t functions; /* number of rules for functions */
};

/*
 * Adds a rule. "FUNCTION": functions. "image:GLOB": images by path or last component. "range:GLOB:0xFIRST..0xLAST":
 * addresses in such images. Returns PTL_MISUSE with a text, or PTL_NO_MEMORY.
 */
int analysis_ignore_add(struct analysis_ignore *ignore, const char *text, size_t size);
/*
 * Adds a rule from each line; "#" begins a comment. name: what messages call the text. Returns PTL_MISUSE with the
 * place of the error.
 */
int analysis_ignore_parse(struct analysis_ignore *ignore, const char *name, const char *text, size_t size);
int analysis_ignore_read(struct analysis_ignore *ignore, const char *path);
void analysis_ignore_free(struct analysis_ignore *ignore);

/* name: the linker's. Rules have names as in query/function_name.h, or patterns of linker names. */
bool analysis_ignores_function(const struct analysis_ignore *ignore, const char *name);
/* Whether a whole image, or an address in the image, is ignored. */
bool analysis_ignores_image(const struct analysis_ignore *ignore, const char *path);
bool analysis_ignores_address(const struct analysis_ignore *ignore, const char *path, uint64_t address);

#endif
