/* SPDX-License-Identifier: BSD-2-Clause */
/* Kinds of failure and the chain of causes that a failing call leaves behind. */
#ifndef PTL_ERROR_H
#define PTL_ERROR_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Every function of libptl that can fail returns 0 or one of these. A positive value is used only
 * where a function documents one (for example "end of data").
 */
enum ptl_status {
	PTL_OK = 0,
	PTL_NOT_OURS = -1,    /* the bytes are not of the format that was asked for */
	PTL_UNSUPPORTED = -2, /* well formed, but needs a newer reader or a missing feature */
	PTL_CORRUPT = -3,     /* the bytes contradict the format */
	PTL_TRUNCATED = -4,   /* the bytes end too early */
	PTL_NO_MEMORY = -5,   /* an allocation failed or would pass a stated bound */
	PTL_MISUSE = -6,      /* the caller broke a documented rule */
	PTL_SYSTEM = -7,      /* a system call failed; the chain names errno's text */
	PTL_CANCELLED = -8,   /* a callback or a signal asked to stop */
	PTL_NOT_FOUND = -9,   /* the thing asked for is not there */
};

/*
 * RESULTS. A function that makes an object, or reads bytes into fresh memory, sets the caller's pointer to NULL when it fails. So the
 * caller may free the result without a look at the status.
 */

/*
 * STRUCTURES OF THE CALLER. Options, filters and callbacks begin with `size`, which the caller sets to sizeof the structure. All
 * other members may be 0. A newer version may add members at the end. A function that gets a structure of an older caller takes 0
 * for the members that the caller lacks. A member that the library does not know and that is not 0 is PTL_UNSUPPORTED. A size
 * that was not set is PTL_MISUSE. Functions do not repeat these two failures.
 *
 * Structures of data (struct ptl_event, ptl_schema, ptl_machine, ptl_loss and so on) and of results keep their members as long
 * as the libraries keep their SONAME.
 */

/* "corrupt data" and so on: a short English name of the kind; never NULL. */
const char *ptl_status_name(int status);

/*
 * The chain of causes of the last failure in this thread, outermost first, joined with ": ", for
 * example "cannot open a.ptl: buffer 12 at offset 40960: payload checksum differs". Never NULL; empty
 * when nothing failed. Valid until the next libptl call of this thread.
 */
const char *ptl_error_text(void);

/* Forgets the chain of this thread. */
void ptl_error_clear(void);

#ifdef __cplusplus
}
#endif

#endif
