/* SPDX-License-Identifier: BSD-2-Clause */
/* Flame graphs: folded stacks, and a picture. */
#ifndef DUMP_EXPORT_FLAMEGRAPH_H
#define DUMP_EXPORT_FLAMEGRAPH_H

#include "dump/export/export.h"
#include "dump/export/flame_tree.h"

/* A line for each path: names from the outermost, separated by ";", a blank, what it took; two numbers of two traces. */
int dump_flame_folded(struct dump_session *session, const struct dump_flame_tree *tree, bool two);

#endif
