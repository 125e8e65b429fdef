/* SPDX-License-Identifier: BSD-2-Clause */
/* Accesses to the parts of a value: members, elements and targets. */
#ifndef RECORD_VALUE_ACCESS_H
#define RECORD_VALUE_ACCESS_H

#include "record/value/member.h"

/* Applies the accesses of an expression. */
void value_access(struct value_object *object, const struct value_expression *expression);

/* Becomes the member. */
void value_take_member(struct value_object *object, const char *name);
void value_take_found(struct value_object *object, const struct value_member *member);
/* Becomes what the pointer or reference leads to. */
void value_follow(struct value_object *object);
void value_follow_references(struct value_object *object);

#endif
