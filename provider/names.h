/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of files in the session folder, made without stdio, whose functions are not for signal handlers. */
#ifndef PTL_PROVIDER_NAMES_H
#define PTL_PROVIDER_NAMES_H

#include <stdint.h>

#include "provider/session_layout.h"

/* Each puts a name and a zero into name: PTL_SHARE_NAME_SIZE is enough. */
void ptl_name_session(char *name, unsigned slot);
void ptl_name_process(char *name, uint32_t pid, uint64_t process);
void ptl_name_rings(char *name, uint32_t pid, uint64_t process, uint64_t session);
/* Of a file that is not complete yet. */
void ptl_name_new(char *name, uint64_t number);
/* "/dev/shm/ptl-UID". */
void ptl_name_folder(char *name, uint32_t user);

#endif
