/* SPDX-License-Identifier: BSD-2-Clause */
/* What differs always and is not to be compared: functions, images, ranges of addresses. */
#ifndef DUMP_DIFFERENCE_DIFF_IGNORE_H
#define DUMP_DIFFERENCE_DIFF_IGNORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dump_ignore_rule {
	char *pattern; /* owned: of a function's name, or of an image */
	bool is_function, is_range;
	uint64_t first, last; /* of a range, in the image's own address space */
};

/* Zero-initialised ignores nothing. */
struct dump_ignore {
	struct dump_ignore_rule *rules;
	size_t count;
	size_t functions; /* of the rules */
};

/*
 * "GLOB" is a function, "image:GLOB" an image, by its path or last component, "range:GLOB:0xFIRST..0xLAST" addresses of one.
 * PTL_MISUSE with a text, PTL_NO_MEMORY.
 */
int dump_ignore_add(struct dump_ignore *ignore, const char *text, size_t size);
/* A line each; "#" begins a comment. PTL_MISUSE with the place. name is what messages call the bytes. */
int dump_ignore_parse(struct dump_ignore *ignore, const char *name, const char *text, size_t size);
int dump_ignore_read(struct dump_ignore *ignore, const char *path);
void dump_ignore_free(struct dump_ignore *ignore);

bool dump_ignores_function(const struct dump_ignore *ignore, const char *name);
/* All of an image, or what lies at an address of it. */
bool dump_ignores_image(const struct dump_ignore *ignore, const char *path);
bool dump_ignores_address(const struct dump_ignore *ignore, const char *path, uint64_t address);

#endif
