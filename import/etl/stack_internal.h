/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared declarations of stack.c and stack_key.c. */
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
	size_t frames; /* position in frames */
	uint32_t count;
	uint32_t previous; /* previous entry with equal key; UINT32_MAX: none */
};

/* Returns the addresses of a key; NULL: unknown. */
const struct etl_stack_key *etl_stack_key_find(const struct etl_stack_keys *keys, uint64_t key, uint64_t time);

#endif
