/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes names of files in the session folder. Does not use stdio, which is unsafe in signal handlers. */
#ifndef PROVIDER_NAMES_H
#define PROVIDER_NAMES_H

#include <stdint.h>

#include "provider/session_layout.h"

/* Each function writes a zero-terminated name to `name`; PROVIDER_SHM_NAME_SIZE bytes suffice. */
void provider_name_session(char *name, unsigned slot);
void provider_name_process(char *name, uint32_t pid, uint64_t process);
void provider_name_rings(char *name, uint32_t pid, uint64_t process, uint64_t session);
/* Makes the name of an incomplete file. */
void provider_name_new(char *name, uint64_t number);
/*
 * Makes "/dev/shm/ptl-UID". Makes "/run/user/UID/ptl" if another user owns the first name and this user owns
 * /run/user/UID: another user must not prevent recording. A program and its recorder get the same name.
 */
void provider_name_folder(char *name, uint32_t user);

#endif
