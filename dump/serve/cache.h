/* SPDX-License-Identifier: BSD-2-Clause */
/* Outputs of earlier commands: the trace does not change, so that an equal command line has an equal output. */
#ifndef DUMP_SERVE_CACHE_H
#define DUMP_SERVE_CACHE_H

#include "common/bytes.h"
#include "common/text/string_list.h"

#define DUMP_SERVE_CACHE_ENTRIES 32u            /* commands */
#define DUMP_SERVE_CACHE_OUTPUT (16u << 20)     /* bytes of a command's output */
#define DUMP_SERVE_CACHE_MAX ((size_t)64 << 20) /* bytes of all outputs */

/* Output and exit status of a finished command. */
struct dump_serve_output {
	struct ptl_bytes key; /* words of the command line, each with a zero byte */
	struct ptl_bytes out, err;
	int ended;     /* as of waitpid */
	uint64_t used; /* number of the last use; 0: the entry is empty */
};

/* Zero-initialised: empty. */
struct dump_serve_cache {
	struct dump_serve_output entries[DUMP_SERVE_CACHE_ENTRIES];
	size_t bytes;
	uint64_t uses;
};

/* Returns the output of an equal command line, valid until the next dump_serve_cache_keep; NULL: none. */
const struct dump_serve_output *dump_serve_cache_find(struct dump_serve_cache *cache,
						      const struct common_string_list *words);
/*
 * Keeps an output. Takes over the bytes of `out` and `err`. Removes the outputs that were not used for the longest time if
 * there is no room. Without memory, keeps nothing.
 */
void dump_serve_cache_keep(struct dump_serve_cache *cache, const struct common_string_list *words,
			   struct ptl_bytes *out, struct ptl_bytes *err, int ended);
void dump_serve_cache_free(struct dump_serve_cache *cache);

#endif
