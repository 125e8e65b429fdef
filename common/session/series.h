/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of the files of a series: a.000001.ptl, a.000002.ptl, ... of a.ptl. */
#ifndef COMMON_SESSION_SERIES_H
#define COMMON_SESSION_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMMON_SERIES_FILES_MAX 100000 /* that are found */

/* The name of a file, in fresh memory; NULL without. stem: what stands before the number and its point. */
char *common_series_path(const char *stem, uint64_t number, const char *suffix);
/*
 * Finds stem and suffix of the path of a file that has this number: *stem bytes, and where the suffix begins. false: it is no file of
 * a series.
 */
bool common_series_parse(const char *path, uint64_t number, size_t *stem, size_t *suffix);
/*
 * The numbers behind `after` of the files that are there, ascending, in fresh memory. PTL_NOT_FOUND: their folder cannot be read;
 * PTL_NO_MEMORY.
 */
int common_series_list(const char *stem, const char *suffix, uint64_t after, uint64_t **numbers, size_t *count);

#endif
