/* SPDX-License-Identifier: BSD-2-Clause */
/* File names of a series: a.000001.ptl, a.000002.ptl, ... of a.ptl. */
#ifndef COMMON_SESSION_SERIES_H
#define COMMON_SESSION_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMMON_SERIES_FILES_MAX 100000 /* most files that a listing returns */

/* Returns the name of a file in new memory; NULL without memory. stem: the text before the number and its point. */
char *common_series_path(const char *stem, uint64_t number, const char *suffix);
/*
 * Splits the path of the file with this number. *stem: bytes before the number; *suffix: offset of the suffix. Returns
 * false if the path is no file of a series.
 */
bool common_series_parse(const char *path, uint64_t number, size_t *stem, size_t *suffix);
/*
 * Lists the numbers greater than `after` of the existing files, ascending, in new memory. PTL_NOT_FOUND: the folder
 * cannot be read; PTL_NO_MEMORY.
 */
int common_series_list(const char *stem, const char *suffix, uint64_t after, uint64_t **numbers, size_t *count);

#endif
