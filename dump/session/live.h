/* SPDX-License-Identifier: BSD-2-Clause */
/* --live: the trace of a named session of ptl-record. */
#ifndef DUMP_SESSION_LIVE_H
#define DUMP_SESSION_LIVE_H

/*
 * The file that the session of this name writes now, in fresh memory, with all in it that has been taken so far. PTL_NOT_FOUND: there is
 * no such session; PTL_MISUSE, PTL_SYSTEM, PTL_NO_MEMORY.
 */
int dump_live_path(const char *session, char **path);

#endif
