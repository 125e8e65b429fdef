/* SPDX-License-Identifier: BSD-2-Clause */
/* From when on a session is read that has written several files. */
#ifndef FORMAT_READER_SESSION_BEGINNING_H
#define FORMAT_READER_SESSION_BEGINNING_H

#include "common/bytes.h"
#include "format/reader/session_files.h"

/*
 * Behind format_session_files_begin: a sentence that says so, and where earlier events are; empty where the first file is read. fd and path
 * are those of the file. PTL_NO_MEMORY.
 */
int format_session_beginning(const struct format_session_files *files, int fd, const char *path,
			     struct ptl_bytes *text);

#endif
