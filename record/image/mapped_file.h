/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the exact file that another process has mapped. */
#ifndef RECORD_IMAGE_MAPPED_FILE_H
#define RECORD_IMAGE_MAPPED_FILE_H

#include <sys/stat.h>

#include "record/image/image_store.h"

/*
 * Opens the mapping's file for reading. Tries the path as seen by the process, the path as seen by the recorder, and
 * the kernel's link in map_files. The link needs privileges, but also finds a file whose name was taken by another
 * file. Accepts only a regular file with the stated device and inode.
 * Returns the descriptor, close-on-exec, and fills *info; -1 if not found.
 */
int record_open_mapped(const struct record_mapping *mapping, struct stat *info);

#endif
