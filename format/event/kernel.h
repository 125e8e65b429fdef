/* SPDX-License-Identifier: BSD-2-Clause */
/* Identities and versions of the kernel provider's classes: docs/format.md, section 11. */
#ifndef FORMAT_EVENT_KERNEL_H
#define FORMAT_EVENT_KERNEL_H

#include <ptl/guid.h>

#define FORMAT_KERNEL_GUID PTL_GUID(0x9e814aad, 0x3204, 0x11d2, 0x9a82, 0x006008a86939)
#define FORMAT_PROCESS_GUID PTL_GUID(0x3d6fa8d0, 0xfe05, 0x11d0, 0x9dda, 0x00c04fd7ba7c)
#define FORMAT_THREAD_GUID PTL_GUID(0x3d6fa8d1, 0xfe05, 0x11d0, 0x9dda, 0x00c04fd7ba7c)
#define FORMAT_IMAGE_GUID PTL_GUID(0x2cb15d1d, 0x5fc1, 0x11d2, 0xabe1, 0x00a0c911f518)
#define FORMAT_CODE_GUID PTL_GUID(0xd3a4ff30, 0x5c1f, 0x4e0b, 0x9b53, 0x6a1d6f0c7e21)
#define FORMAT_SIGNAL_GUID PTL_GUID(0x5b574cd1, 0x5e7a, 0x443c, 0x910f, 0x9bcfa0bb660e)

/* Versions: ETW's version 3 with the top bit set, as PTL's own fields follow. */
#define FORMAT_PROCESS_VERSION 0x83
#define FORMAT_THREAD_VERSION 0x83
#define FORMAT_IMAGE_VERSION 0x83
#define FORMAT_CODE_VERSION 1
#define FORMAT_SIGNAL_VERSION 1

/* Bits of a process event's Flags. */
#define FORMAT_PROCESS_HAS_EXIT_STATUS 1u

/* Bits of a signal event's Flags. */
#define FORMAT_SIGNAL_HAS_ADDRESS 1u

/* Returns PTL_CORRUPT if a path or name is longer than PTL_PATH_MAX, else 0. */
int format_kernel_check_name(const char *name);

#endif
