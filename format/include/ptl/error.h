/* SPDX-License-Identifier: BSD-2-Clause */
/* Status codes, and the chain of causes left by a failed call. */
#ifndef PTL_ERROR_H
#define PTL_ERROR_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Every function of libptl that can fail returns 0 or one of these codes. Positive values are returned only by
 * functions that document a positive value (for example "end of data").
 */
enum ptl_status {
	PTL_OK = 0,
	PTL_NOT_OURS = -1,    /* the bytes are not in the expected format */
	PTL_UNSUPPORTED = -2, /* well formed, but requires a newer reader or a missing feature */
	PTL_CORRUPT = -3,     /* the bytes contradict the format */
	PTL_TRUNCATED = -4,   /* the bytes end too early */
	PTL_NO_MEMORY = -5,   /* an allocation failed or would exceed a stated limit */
	PTL_MISUSE = -6,      /* the caller violated a documented rule */
	PTL_SYSTEM = -7,      /* a system call failed; the chain contains errno's text */
	PTL_CANCELLED = -8,   /* a callback or a signal cancelled the operation */
	PTL_NOT_FOUND = -9,   /* the requested object does not exist */
};

/*
 * RESULTS. A function that creates an object, or reads bytes into new memory, sets the caller's pointer to NULL on
 * failure. So the caller may free the result without checking the status.
 */

/*
 * STRUCTURES OF THE CALLER. Options, filters and callbacks begin with `size`, which the caller sets to sizeof the
 * structure. All other members may be 0. A newer version may add members at the end. For a structure of an older
 * caller, a function uses 0 for the missing members. A member unknown to the library that is not 0 is PTL_UNSUPPORTED.
 * A size that was not set is PTL_MISUSE. The descriptions of functions do not repeat these two failures.
 *
 * Structures of data (struct ptl_event, ptl_schema, ptl_machine, ptl_loss and so on) and of results keep their members
 * as long as the libraries keep their SONAME.
 */

/* Returns a short English name of the status, such as "corrupt data"; never NULL. */
const char *ptl_status_name(int status);

/*
 * Returns the chain of causes of the last failure in this thread, outermost cause first, joined with ": ", for example
 * "cannot open a.ptl: buffer 12 at offset 40960: payload checksum differs". Never NULL; empty without a failure. Valid
 * until the next libptl call of this thread.
 */
const char *ptl_error_text(void);

/* Clears the chain of this thread. */
void ptl_error_clear(void);

#ifdef __cplusplus
}
#endif

#endif
