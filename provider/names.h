/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of files in the session folder, made without stdio, whose functions are not for signal handlers. */
#ifndef PROVIDER_NAMES_H
#define PROVIDER_NAMES_H

#include <stdint.h>

#include "provider/session_layout.h"

/* Each puts a name and a zero into name: PROVIDER_SHM_NAME_SIZE is enough. */
void provider_name_session(char *name, unsigned slot);
void provider_name_process(char *name, uint32_t pid, uint64_t process);
void provider_name_rings(char *name, uint32_t pid, uint64_t process, uint64_t session);
/* Of a file that is not complete yet. */
void provider_name_new(char *name, uint64_t number);
/*
 * "/dev/shm/ptl-UID"; "/run/user/UID/ptl" where that name is taken by another user, who must not keep this one from
 * recording, and /run/user/UID is this user's. A program and its recorder find the same.
 */
void provider_name_folder(char *name, uint32_t user);

#endif
