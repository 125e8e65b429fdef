/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells from when on a session with several files is read. */
#ifndef FORMAT_READER_SESSION_BEGINNING_H
#define FORMAT_READER_SESSION_BEGINNING_H

#include "common/bytes.h"
#include "format/reader/session_files.h"

/*
 * Call after format_session_files_begin. Appends a sentence that tells where reading begins and where earlier events
 * are; appends nothing if the first file is read. fd, path: of the file. PTL_NO_MEMORY.
 */
int format_session_beginning(const struct format_session_files *files, int fd, const char *path,
			     struct ptl_bytes *text);

#endif
