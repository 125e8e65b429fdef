/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A store of content behind HTTP: pieces are at URL/ab/cdef..., and come into a folder of this user, which is a store like any
 * (common/content/content_store.h). What comes is checked before it is there.
 */
#ifndef COMMON_CONTENT_CONTENT_REMOTE_H
#define COMMON_CONTENT_CONTENT_REMOTE_H

#include "common/content/content_store.h"

struct common_content_remote;

/* The largest piece that is taken where nobody knows its size. */
#define COMMON_CONTENT_REMOTE_MAX (1ull << 30)

/* PTL_MISUSE (the URL, no folder), PTL_UNSUPPORTED (no libcurl), PTL_NO_MEMORY. Nothing is asked for yet. */
int common_content_remote_open(const char *url, struct common_content_remote **remote);
void common_content_remote_close(struct common_content_remote *remote);
/* The folder. */
const char *common_content_remote_folder(const struct common_content_remote *remote);
/*
 * Sees to it that the folder has a piece of at most limit bytes. PTL_NOT_FOUND: the server has none, has other bytes, or does not
 * answer, or the folder does not take it; it is not asked for again. PTL_NO_MEMORY. Several threads may call it.
 */
int common_content_remote_fetch(struct common_content_remote *remote, const uint8_t digest[COMMON_SHA256_SIZE],
				uint64_t limit);
/* How many pieces did not come, but for those that the server does not have; why, of the first one. */
uint64_t common_content_remote_failures(const struct common_content_remote *remote, const char **why);

#endif
