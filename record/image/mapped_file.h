/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the very file that another process has mapped. */
#ifndef RECORD_IMAGE_MAPPED_FILE_H
#define RECORD_IMAGE_MAPPED_FILE_H

#include <sys/stat.h>

#include "record/image/image_store.h"

/*
 * Opens mapping's file for reading: by its path as that process sees it, as we see it, or through
 * the kernel's link to what is mapped, which needs privileges, but also finds a file whose name
 * another has taken. Only a regular file with the stated device and inode is taken. Returns the
 * descriptor, close-on-exec, and fills *info; -1 if there is none.
 */
int record_open_mapped(const struct record_mapping *mapping, struct stat *info);

#endif
