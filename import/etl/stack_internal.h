/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts that know of stacks share. */
#ifndef IMPORT_ETL_STACK_INTERNAL_H
#define IMPORT_ETL_STACK_INTERNAL_H

#include "import/etl/stack.h"

enum etl_stack_opcode {
	ETL_STACK = 32,
	ETL_STACK_KEY_DELETE = 35,
	ETL_STACK_KEY_RUNDOWN = 36,
	ETL_STACK_KEY_KERNEL = 37,
	ETL_STACK_KEY_USER = 38,
};

struct etl_stack_key {
	uint64_t time;
	size_t frames; /* where they are */
	uint32_t count;
	uint32_t previous; /* another one of the same key; UINT32_MAX: none */
};

/* NULL: nothing says what it stands for. */
const struct etl_stack_key *etl_stack_key_find(const struct etl_stack_keys *keys, uint64_t key, uint64_t time);

#endif
