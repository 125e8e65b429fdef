/* SPDX-License-Identifier: BSD-2-Clause */
/* Words that depend on a number: "1 call is", "2 calls are". */
#ifndef COMMON_PLURAL_H
#define COMMON_PLURAL_H

/*
 * In a format of common_message_*, common_fail* and common_text_format: `one` if the last whole number in the text before
 * is 1, else `many`.
 */
#define COMMON_PLURAL(one, many) "\001" one "\002" many "\003"

/* Replaces each COMMON_PLURAL of the text, which was made by the format, by one of its words. */
void common_plural_choose(const char *format, char *text);

#endif
