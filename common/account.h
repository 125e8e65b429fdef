/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What has to be remembered of an input grows with the number of things in it, whatever their size. It is counted, and a
 * program that promises to stay within some memory states how much of it there may be.
 */
#ifndef COMMON_ACCOUNT_H
#define COMMON_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What one owner has taken. Zero-initialised is nothing. */
struct common_account {
	size_t bytes;
};

/* What all accounts of the process may hold together; 0, as at the start: no bound. Before any threads are there. */
void common_account_limit(size_t bytes);
/*
 * Counts bytes that are going to be allocated. PTL_NO_MEMORY: they would pass the bound, and nothing was counted; the
 * chain then says that there are too many of what (a plural, such as "images"), number counted with this one.
 */
int common_account_take(struct common_account *account, size_t bytes, const char *what, uint64_t number);
/* Whether any was refused. */
bool common_account_refused(void);
/* Gives all of it back. */
void common_account_close(struct common_account *account);
/*
 * What a buffer, cache or queue may hold whose size is free to choose and would be `bytes`: less, where much of the
 * bound was taken, so that both together stay within an eighth more than the bound.
 */
size_t common_account_share(size_t bytes);

#endif
