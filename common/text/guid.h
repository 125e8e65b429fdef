/* SPDX-License-Identifier: BSD-2-Clause */
/* GUIDs as text and bytes. The type itself is public: ptl/guid.h. */
#ifndef COMMON_TEXT_GUID_H
#define COMMON_TEXT_GUID_H

#include <stdbool.h>
#include <stdint.h>

#include <ptl/guid.h>

/* True for equal GUIDs. */
bool common_guid_equal(const struct ptl_guid *a, const struct ptl_guid *b);

/* Reads "9e814aad-3204-11d2-9a82-006008a86939", with or without braces; false for anything else. */
bool common_guid_parse(const char *text, struct ptl_guid *guid);

/* Writes the 36 lower-case characters and a zero. */
void common_guid_format(const struct ptl_guid *guid, char text[PTL_GUID_TEXT_SIZE]);

/* A GUID of an UUID whose bytes are in network order (RFC 4122), as text shows them. */
void common_guid_from_uuid(struct ptl_guid *guid, const uint8_t uuid[16]);

/* As ptl/provider.h has it: the GUID that .NET's EventSource gives to this name (UTF-8). PTL_MISUSE: no UTF-8. */
int ptl_guid_from_name(const char *name, struct ptl_guid *guid);

/* A random (version 4) GUID from the kernel's generator; PTL_SYSTEM where it gives none. */
int common_guid_random(struct ptl_guid *guid);

#endif
