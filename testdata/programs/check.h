/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the traced programs: a check that ends the program on failure. */
#ifndef TESTDATA_PROGRAMS_CHECK_H
#define TESTDATA_PROGRAMS_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition);                  \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

#endif
