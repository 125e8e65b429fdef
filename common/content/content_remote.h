/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A content store behind HTTP. Pieces are at URL/ab/cdef... and are downloaded into a folder of this user, which is a
 * regular content store (common/content/content_store.h). A piece is checked before it is stored.
 */
#ifndef COMMON_CONTENT_CONTENT_REMOTE_H
#define COMMON_CONTENT_CONTENT_REMOTE_H

#include "common/content/content_store.h"

struct common_content_remote;

/* limit for a piece of unknown size, in bytes */
#define COMMON_CONTENT_REMOTE_MAX (1ull << 30)

/*
 * Opens the store without contacting the server. PTL_MISUSE (bad URL, no folder), PTL_UNSUPPORTED (no libcurl),
 * PTL_NO_MEMORY.
 */
int common_content_remote_open(const char *url, struct common_content_remote **remote);
void common_content_remote_close(struct common_content_remote *remote);
/* Returns the path of the local folder. */
const char *common_content_remote_folder(const struct common_content_remote *remote);
/*
 * Downloads a piece of at most `limit` bytes unless the folder has the piece. PTL_NOT_FOUND: the server lacks the
 * piece, sends other bytes or does not answer, or the folder cannot be written; a failed piece is not requested again.
 * PTL_NO_MEMORY. Several threads may call this function.
 */
int common_content_remote_fetch(struct common_content_remote *remote, const uint8_t digest[COMMON_SHA256_SIZE],
				uint64_t limit);
/* Returns the number of failed pieces, not counting pieces that the server lacks. *why: text of the first failure. */
uint64_t common_content_remote_failures(const struct common_content_remote *remote, const char **why);

#endif
