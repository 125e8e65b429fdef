/* SPDX-License-Identifier: BSD-2-Clause */
/* Options about debug files, shared by several tools. */
#ifndef ELF_DEBUG_OPTIONS_H
#define ELF_DEBUG_OPTIONS_H

#include "common/program/options.h"
#include "elf/debug_search.h"

/* A row of an option table: a flag. If the flag is set, the tool calls elf_debuginfod_enable. */
#define ELF_DEBUGINFOD_OPTION(structure, member)                                                                       \
	{                                                                                                              \
		"debuginfod", 0, NULL,                                                                                 \
			"Asks the servers of $DEBUGINFOD_URLS for debug files that are nowhere else. Without this "    \
			"nothing goes over "                                                                           \
			"a network.",                                                                                  \
			COMMON_FLAG(structure, member)                                                                 \
	}

#endif
