/* SPDX-License-Identifier: BSD-2-Clause */
/* GUIDs as text and bytes. The type is public: ptl/guid.h. */
#ifndef COMMON_TEXT_GUID_H
#define COMMON_TEXT_GUID_H

#include <stdbool.h>
#include <stdint.h>

#include <ptl/guid.h>

/* Whether two GUIDs are equal. */
bool common_guid_equal(const struct ptl_guid *a, const struct ptl_guid *b);

/* Parses "9e814aad-3204-11d2-9a82-006008a86939", with or without braces; false for any other text. */
bool common_guid_parse(const char *text, struct ptl_guid *guid);

/* Writes the 36 lower-case characters and a terminating zero. */
void common_guid_format(const struct ptl_guid *guid, char text[PTL_GUID_TEXT_SIZE]);

/* Converts a UUID in network byte order (RFC 4122), the order of the text form, to a GUID. */
void common_guid_from_uuid(struct ptl_guid *guid, const uint8_t uuid[16]);

/*
 * As documented in ptl/provider.h: the GUID that .NET's EventSource derives from this name (UTF-8). PTL_MISUSE: invalid
 * UTF-8.
 */
int ptl_guid_from_name(const char *name, struct ptl_guid *guid);

/* Makes a random (version 4) GUID from the kernel's generator. PTL_SYSTEM if the generator fails. */
int common_guid_random(struct ptl_guid *guid);

#endif
